-- The messages of the epoch $3 of the agent $2 along the path of $1.
WITH
-- include: segments
SELECT
    message.id, message.conversation_id, message.sequence, message.role, message.channel,
    message.visibility, message.content, message.is_list, message.metadata, message.user_id,
    message.agent_id, message.parent_message_id, message.memory_epoch, message.created_at
FROM segment AS part
JOIN messages AS message
    ON message.conversation_id = part.id
    AND message.channel = 'MEMORY'
    AND message.agent_id = $2
    AND message.memory_epoch = $3::integer
    AND message.sequence >= part.first
    AND message.sequence < part.until
ORDER BY message.sequence
