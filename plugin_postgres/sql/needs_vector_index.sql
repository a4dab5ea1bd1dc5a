-- Whether more than $2 embeddings have the dimension $1 and its index $3 is missing or incomplete.
SELECT
    NOT EXISTS (
        SELECT FROM pg_index
        WHERE indexrelid = to_regclass('memory_plugin.' || $3::text) AND indisvalid
    )
    AND EXISTS (
        SELECT FROM memory_plugin.memory_records
        WHERE dimension = $1
        OFFSET $2
    )
