-- The oldest of what the plugin has to be told, with the text of each message: $1 at most, and not
-- many more than $2 bytes. Those without words are the newest, so the order is kept.
SELECT
    id, action, group_id, message_id, role, agent_id, created_at,
    memory_conversations.message_text(content, is_list) AS content
FROM (
    SELECT
        waiting.id, waiting.action, waiting.group_id, waiting.message_id,
        message.role, message.agent_id, message.created_at, message.content, message.is_list,
        coalesce(
            sum(octet_length(message.content)) OVER (
                ORDER BY waiting.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ),
            0
        ) AS size_before
    FROM (
        SELECT * FROM outbox
        WHERE NOT refused AND (has_words OR action <> 'write')
        ORDER BY id
        LIMIT $1
    ) AS waiting
    LEFT JOIN messages AS message ON message.id = waiting.message_id
) AS sized
WHERE size_before < $2
ORDER BY id
