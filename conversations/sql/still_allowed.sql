-- The messages among $3 that the user $1 may see now, on the paths $4 to $6 and before the position
-- ($7, $8). $2, the query, is not used.
SELECT
    message.id, message.conversation_id, message.sequence, message.role, message.channel,
    message.visibility, message.content, message.is_list, message.metadata, message.user_id,
    message.agent_id,
-- include: parent_for_users
    message.memory_epoch, message.created_at,
    memory_conversations.message_text(message.content, message.is_list) AS text
FROM messages AS message
JOIN memberships AS membership
    ON membership.group_id = message.group_id AND membership.user_id = $1
WHERE
    message.id = ANY($3::uuid[])
    AND $2::text IS NOT NULL
    AND
-- include: allowed
