-- The plugin has the memories $2 of the session $1; finish the batches that are now complete. Returns what came from
-- the buffer: a batch without messages has facts that a model found later, or a file.
WITH written AS (
    UPDATE memories SET text = NULL
    WHERE session = $1 AND id = ANY($2::uuid[])
),
done AS (
    DELETE FROM batches AS batch
    WHERE
        batch.session = $1
        AND NOT EXISTS (
            SELECT FROM memories
            WHERE
                memories.session = $1
                AND memories.batch = batch.id
                AND memories.text IS NOT NULL
                AND memories.deleted_at IS NULL
                AND memories.id <> ALL($2::uuid[])
        )
    RETURNING batch.id, batch.message_count, batch.memory_count
),
emptied AS (
    UPDATE messages SET content = NULL, role = NULL, sender_id = NULL, sent_at = NULL
    WHERE session = $1 AND content IS NOT NULL AND batch IN (SELECT id FROM done)
)
SELECT
    coalesce(sum(message_count), 0)::integer AS message_count,
    coalesce(sum(memory_count) FILTER (WHERE message_count > 0), 0)::integer AS memory_count
FROM done
