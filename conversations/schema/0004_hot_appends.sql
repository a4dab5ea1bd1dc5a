-- serves: 0003
-- Every append moves updated_at. While an index has that column, each move also writes a new entry to
-- every index of the table; a minute changes seldom, so the row is replaced where it is, as long as
-- its page has room. The list sorts within a minute.
ALTER TABLE conversations SET (fillfactor = 70);
ALTER TABLE conversations ADD COLUMN updated_minute timestamptz NOT NULL
    GENERATED ALWAYS AS (date_bin('1 minute', updated_at, '2000-01-01 00:00:00+00')) STORED;
DROP INDEX conversations_of_owner;
DROP INDEX conversations_of_group;
CREATE INDEX conversations_of_owner ON conversations (owner_user_id, updated_minute DESC);
CREATE INDEX conversations_of_group ON conversations (group_id, updated_minute DESC);
