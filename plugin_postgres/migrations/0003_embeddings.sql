-- needs: vector
--
-- Embeddings of any dimension in one column; a search compares those of its own dimension only.
--
-- An index for approximate search holds one dimension. Building it costs about a millisecond a row
-- and every later write pays as much, so there is none here: `plugin_postgres.vectors` builds one
-- for a dimension when there are enough embeddings of it.

ALTER TABLE memory_plugin.memory_records ADD COLUMN IF NOT EXISTS embedding vector;

-- An adopted column has a fixed dimension, and indexes that no statement of ours uses.
DO $$
DECLARE
    adopted regclass;
BEGIN
    FOR adopted IN
        SELECT indexrelid::regclass
        FROM pg_index
        JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)
        WHERE indrelid = 'memory_plugin.memory_records'::regclass AND attname = 'embedding'
    LOOP
        EXECUTE format('DROP INDEX %s', adopted);
    END LOOP;
END
$$;

ALTER TABLE memory_plugin.memory_records ALTER COLUMN embedding TYPE vector;

-- A column, and not only an expression, so that embeddings can be counted inside the index. Adding
-- it rewrites the table once.
ALTER TABLE memory_plugin.memory_records
    ADD COLUMN dimension integer GENERATED ALWAYS AS (vector_dims(embedding)) STORED;

-- The embeddings of a dimension in a namespace, for exact search and for counting them.
CREATE INDEX memory_records_embedded
    ON memory_plugin.memory_records (dimension, namespace)
    WHERE dimension IS NOT NULL;
