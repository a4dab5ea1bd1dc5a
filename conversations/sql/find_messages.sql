SELECT
    message.id, message.conversation_id, message.sequence, message.role, message.channel,
    message.visibility, message.content, message.is_list, message.metadata, message.user_id,
    message.agent_id, message.parent_message_id, message.memory_epoch, message.created_at
FROM messages AS message
WHERE message.id = ANY($1::uuid[])
