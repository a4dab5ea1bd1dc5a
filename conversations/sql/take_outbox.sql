-- The oldest of what the plugin has to be told, with the text of each message. Those without words
-- are the newest, so the order is kept.
SELECT
    waiting.id, waiting.action, waiting.group_id, waiting.message_id,
    message.role, message.agent_id, message.created_at,
    memory_conversations.message_text(message.content, message.is_list) AS content
FROM (
    SELECT * FROM outbox
    WHERE NOT refused AND (has_words OR action <> 'write')
    ORDER BY id
    LIMIT $1
) AS waiting
LEFT JOIN messages AS message ON message.id = waiting.message_id
ORDER BY waiting.id
