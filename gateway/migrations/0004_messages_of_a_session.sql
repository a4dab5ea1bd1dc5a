-- serves: 0001
-- An add has locked the session of its messages, so that PostgreSQL need not look for it again for every
-- message. Only the other direction is needed: the messages go with their session. A trigger sees what
-- was committed while the deletion waited for the session, as a reference does.

-- Both locks or none, in short attempts: statements take them in either order, and a flush holds one on one
-- connection while it waits for another on a second, which PostgreSQL cannot see.
DO $$
BEGIN
    PERFORM set_config('lock_timeout', '100ms', true);
    FOR attempt IN 1..300 LOOP
        BEGIN
            LOCK TABLE sessions, messages IN ACCESS EXCLUSIVE MODE;
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.05);
        END;
    END LOOP;
    RAISE lock_not_available USING MESSAGE = 'sessions are in use all the time; migrate while fewer flushes run';
END
$$;

ALTER TABLE messages DROP CONSTRAINT messages_session_fkey;

CREATE FUNCTION delete_messages() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM memory_gateway.messages WHERE session = OLD.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER messages_go AFTER DELETE ON sessions
FOR EACH ROW EXECUTE FUNCTION delete_messages();
