-- serves: 0001
-- A search remembers the namespaces of a user, and makes sure afterwards that they still are all: by one
-- number, which changes whenever a session becomes searchable or ceases to be.
ALTER TABLE users ADD COLUMN scope_version bigint NOT NULL DEFAULT 0;

CREATE FUNCTION count_scope_change() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE memory_gateway.users SET scope_version = scope_version + 1
    WHERE id = coalesce(NEW.owner, OLD.owner);
    RETURN NULL;
END
$$;

CREATE TRIGGER scope_gains AFTER INSERT ON sessions
FOR EACH ROW WHEN (NEW.is_stored) EXECUTE FUNCTION count_scope_change();
-- An add changes other columns, and pays nothing for this.
CREATE TRIGGER scope_changes AFTER UPDATE OF is_stored ON sessions
FOR EACH ROW WHEN (OLD.is_stored <> NEW.is_stored) EXECUTE FUNCTION count_scope_change();
CREATE TRIGGER scope_loses AFTER DELETE ON sessions
FOR EACH ROW WHEN (OLD.is_stored) EXECUTE FUNCTION count_scope_change();
