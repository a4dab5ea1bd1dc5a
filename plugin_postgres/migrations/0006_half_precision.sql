-- needs: vector
-- serves: 0003
--
-- Embeddings in half precision: half the bytes a row, half the time to compare them one by one, and
-- the ten nearest are the same. Only the direction counts, so a vector whose numbers are too large
-- for half precision is brought to length 1 first. The statements serve both types.
--
-- A column that the Go plugin made stays as it is, because that plugin could not start on another
-- type; in its table it stands before created_at. docs/memory-plugins/operating.md says how to change it.
--
-- The table is rewritten once. The indexes for approximate search go; they are built again in the
-- background.
DO $$
BEGIN
    IF (
        SELECT ours.attnum < theirs.attnum
        FROM pg_attribute AS ours
        JOIN pg_attribute AS theirs ON theirs.attrelid = ours.attrelid
        WHERE
            ours.attrelid = 'memory_plugin.memory_records'::regclass
            AND ours.attname = 'created_at'
            AND theirs.attname = 'embedding'
    ) THEN
        ALTER TABLE memory_plugin.memory_records DROP COLUMN dimension;
        ALTER TABLE memory_plugin.memory_records
            ALTER COLUMN embedding TYPE halfvec USING CASE
                WHEN vector_norm(embedding) BETWEEN 0.01 AND 1000 OR vector_norm(embedding) = 0
                THEN embedding::halfvec
                ELSE l2_normalize(embedding)::halfvec
            END,
            ADD COLUMN dimension integer GENERATED ALWAYS AS (vector_dims(embedding)) STORED;
        CREATE INDEX memory_records_embedded
            ON memory_plugin.memory_records (dimension, namespace)
            WHERE dimension IS NOT NULL;
    END IF;
END
$$;
