-- Records what a flush takes: from now on, the batch $2 of the session $1 will be written to the plugin even
-- if this process dies. $3 are the numbers of the messages. $4 is the session's last_message_at as it was
-- read: a later add has changed it. If another flush took some of the messages before the lock was held,
-- this statement fails, because message_count must not be null.
WITH home AS MATERIALIZED (
    -- Before its messages, as in the deletion of a session, so that the two never deadlock.
    SELECT id FROM sessions WHERE id = $1 FOR NO KEY UPDATE
),
taken AS (
    -- "content IS NOT NULL" is always true here, and lets PostgreSQL use the small index of buffered messages.
    UPDATE messages SET batch = $2
    WHERE session = (SELECT id FROM home) AND number = ANY($3::bigint[]) AND batch IS NULL AND content IS NOT NULL
    RETURNING number
),
stored AS (
    -- From now on, a search includes the session, and finds what is already written.
    UPDATE sessions
    SET
        is_buffering = is_buffering AND last_message_at <> $4,
        is_stored = is_stored OR cardinality($5::uuid[]) > 0
    WHERE id = $1
),
batch AS (
    INSERT INTO batches (id, session, message_count, memory_count, try_at)
    SELECT
        $2, $1, CASE WHEN count(*) = cardinality($3) THEN count(*) END, cardinality($5::uuid[]),
        now() + interval '3 seconds'
    FROM taken
),
made AS (
    INSERT INTO memories (id, session, batch, position, type, created_at, extra, text)
    SELECT memory.id, $1, $2, memory.position, memory.type, memory.created_at, memory.extra, memory.text
    FROM unnest(
        $5::uuid[], $6::integer[], $7::text[], $8::timestamptz[], $9::jsonb[], $10::text[]
    ) AS memory (id, position, type, created_at, extra, text)
)
INSERT INTO questions (session, batch, number, memories, sent_at, text)
SELECT $1, $2, question.number, string_to_array(question.memories, ' ')::uuid[],
    question.sent_at, question.text
FROM unnest($11::integer[], $12::text[], $13::timestamptz[], $14::text[])
    AS question (number, memories, sent_at, text)
