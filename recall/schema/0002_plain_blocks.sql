-- serves: 0001
-- A block lives for ten minutes. To compress one takes PostgreSQL as long as all the rest of a turn,
-- and saves a few kilobytes until then. Blocks that are there already stay as they are.
ALTER TABLE turns ALTER COLUMN block SET STORAGE EXTERNAL;
