-- Tries to acquire the lock $1, and takes from the session $13 the messages with the digests $15 without reading
-- them first, if the buffer holds exactly these, in this order. Otherwise, if an earlier flush is incomplete, or
-- if the user no longer has the key $14, nothing is taken.
WITH lock AS MATERIALIZED (
    SELECT pg_try_advisory_lock($1::bigint) AS is_held
),
buffered AS MATERIALIZED (
    SELECT array_agg(message.number) AS numbers, array_agg(message.digest) AS digests
    FROM (
        SELECT number, digest
        FROM messages
        WHERE session = $13::bigint AND batch IS NULL AND content IS NOT NULL
        ORDER BY number
    ) AS message
),
seen AS MATERIALIZED (
    SELECT session.id, buffered.numbers, session.last_message_at
    FROM lock
    JOIN buffered ON buffered.digests = $15::bytea[]
    JOIN sessions AS session ON session.id = $13::bigint
    JOIN users ON users.id = session.owner AND users.key_sha256 = $14 AND users.deleted_at IS NULL
    WHERE lock.is_held AND NOT EXISTS (SELECT FROM batches WHERE batches.session = $13::bigint)
),
-- include: take_seen
SELECT lock.is_held, EXISTS (SELECT FROM seen) AS is_taken FROM lock
