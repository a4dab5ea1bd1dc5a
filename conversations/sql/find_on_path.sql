-- The messages among $2 that are on the path of $1. A summary is on every path that contains the last
-- message it covers.
WITH
-- include: segments
SELECT
    message.id, message.conversation_id, message.sequence, message.role, message.channel,
    message.visibility, message.content, message.is_list, message.metadata, message.user_id,
    message.agent_id, message.parent_message_id, message.memory_epoch, message.created_at, part.is_own
FROM messages AS message
JOIN segment AS part
    ON part.id = coalesce(message.until_conversation_id, message.conversation_id)
    AND message.sequence >= part.first
    AND message.sequence < part.until
WHERE message.id = ANY($2::uuid[])
