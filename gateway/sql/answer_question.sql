-- The question $1 becomes a batch of facts, once: if the question is gone, nothing happens.
WITH answered AS (
    DELETE FROM questions WHERE id = $1 RETURNING session
),
batch AS (
    INSERT INTO batches (id, session, message_count, memory_count)
    SELECT $3, session, 0, cardinality($4::uuid[])
    FROM answered
    WHERE cardinality($4::uuid[]) > 0
)
INSERT INTO memories (id, session, batch, position, type, created_at, extra, text)
SELECT
    memory.id, $2, $3, memory.position, memory.type, memory.created_at, memory.extra, memory.text
FROM answered
CROSS JOIN unnest(
    $4::uuid[], $5::integer[], $6::text[], $7::timestamptz[], $8::jsonb[], $9::text[]
) AS memory (id, position, type, created_at, extra, text)
