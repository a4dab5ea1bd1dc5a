-- Part of other statements: takes the messages in `seen`. From now on, the batch $2 will be written to the plugin
-- even if this process dies: the memories $3 to $8 and the questions $9 to $12. If another flush took some of the
-- messages before the lock was held, the statement fails, because message_count must not be null.
home AS (
    -- Before its messages, as in the deletion of a session, so that the two never deadlock. From now on, a
    -- search includes the session, and finds what is already written.
    UPDATE sessions
    SET
        is_buffering = is_buffering AND sessions.last_message_at <> seen.last_message_at,
        is_stored = is_stored OR cardinality($3::uuid[]) > 0
    FROM seen
    WHERE sessions.id = seen.id
    RETURNING sessions.id
),
taken AS (
    -- "content IS NOT NULL" is always true here, and lets PostgreSQL use the small index of buffered messages.
    UPDATE messages SET batch = $2::uuid
    WHERE
        session = (SELECT id FROM home)
        AND number = ANY((SELECT numbers FROM seen)::bigint[])
        AND batch IS NULL
        AND content IS NOT NULL
    RETURNING number
),
batch AS (
    INSERT INTO batches (id, session, message_count, memory_count, try_at)
    SELECT
        $2::uuid, seen.id, CASE WHEN count.taken = cardinality(seen.numbers) THEN count.taken END,
        cardinality($3::uuid[]), now() + interval '3 seconds'
    FROM seen
    CROSS JOIN (SELECT count(*) AS taken FROM taken) AS count
),
made AS (
    INSERT INTO memories (id, session, batch, position, type, created_at, extra, text)
    SELECT
        memory.id, seen.id, $2::uuid, memory.position, memory.type, memory.created_at, memory.extra, memory.text
    FROM seen
    CROSS JOIN unnest(
        $3::uuid[], $4::integer[], $5::text[], $6::timestamptz[], $7::jsonb[], $8::text[]
    ) AS memory (id, position, type, created_at, extra, text)
),
asked AS (
    INSERT INTO questions (session, batch, number, memories, sent_at, text)
    SELECT
        seen.id, $2::uuid, question.number, string_to_array(question.memories, ' ')::uuid[], question.sent_at,
        question.text
    FROM seen
    CROSS JOIN unnest($9::integer[], $10::text[], $11::timestamptz[], $12::text[])
        AS question (number, memories, sent_at, text)
)
