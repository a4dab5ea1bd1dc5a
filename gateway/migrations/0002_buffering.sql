-- serves: 0001
-- Every add changes last_message_at. As long as no index has it, PostgreSQL replaces the row in its page
-- and leaves the indexes alone. Those that are buffering are few, and looked at every few seconds.
DROP INDEX sessions_buffering;
CREATE INDEX sessions_buffering ON sessions (id) WHERE is_buffering;
