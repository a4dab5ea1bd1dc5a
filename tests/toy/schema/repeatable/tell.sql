-- Every worker is told of a note in the moment of its commit.
CREATE OR REPLACE FUNCTION tell() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM pg_notify('memory_toy', NEW.id::text);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER tell AFTER INSERT ON notes FOR EACH ROW EXECUTE FUNCTION tell();
