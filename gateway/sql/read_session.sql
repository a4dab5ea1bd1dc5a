-- Tries to acquire the lock $1, and reads the session $2 unless its user was deleted: a row for each message
-- that no flush has taken, or one row without a message. It has open batches if an earlier flush is
-- incomplete, and is new if the plugin has none of its memories.
WITH lock AS MATERIALIZED (
    SELECT pg_try_advisory_lock($1::bigint) AS is_held
)
SELECT
    lock.is_held, session.id, users.user_id, users.key_sha256, session.app_id, session.project_id, session.name, session.namespace,
    session.last_message_at, session.is_buffering,
    EXISTS (SELECT FROM batches WHERE batches.session = session.id) AS has_open_batches,
    NOT EXISTS (
        SELECT FROM memories WHERE memories.session = session.id AND memories.text IS NULL
    ) AS is_new,
    message.number, message.role, message.sender_id, message.sent_at, message.content
FROM lock
LEFT JOIN (
    sessions AS session JOIN users ON users.id = session.owner AND users.deleted_at IS NULL
) ON session.id = $2
LEFT JOIN messages AS message
    ON message.session = session.id AND message.batch IS NULL AND message.content IS NOT NULL
ORDER BY message.number
