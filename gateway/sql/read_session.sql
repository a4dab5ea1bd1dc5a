-- A session whose user lives, with the messages that no flush has taken: a row for each, or one row
-- without a message.
SELECT
    session.id, users.user_id, session.app_id, session.project_id, session.name, session.namespace,
    session.is_stored, session.last_message_at,
    message.number, message.role, message.sender_id, message.sent_at, message.content
FROM sessions AS session
JOIN users ON users.id = session.owner AND users.deleted_at IS NULL
LEFT JOIN messages AS message
    ON message.session = session.id AND message.batch IS NULL AND message.content IS NOT NULL
WHERE session.id = $1
ORDER BY message.number
