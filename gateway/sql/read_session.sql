-- A session whose user lives, with the messages that no flush has taken: a row for each, or one row
-- without a message. It is behind when an earlier flush is not complete, and new when the plugin has
-- none of its memories.
SELECT
    session.id, users.user_id, users.key_sha256, session.app_id, session.project_id, session.name, session.namespace,
    session.last_message_at,
    EXISTS (SELECT FROM batches WHERE batches.session = session.id) AS is_behind,
    NOT EXISTS (
        SELECT FROM memories WHERE memories.session = session.id AND memories.text IS NULL
    ) AS is_new,
    message.number, message.role, message.sender_id, message.sent_at, message.content
FROM sessions AS session
JOIN users ON users.id = session.owner AND users.deleted_at IS NULL
LEFT JOIN messages AS message
    ON message.session = session.id AND message.batch IS NULL AND message.content IS NOT NULL
WHERE session.id = $1
ORDER BY message.number
