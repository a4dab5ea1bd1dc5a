-- The fork that an earlier request with the first message $1 created.
SELECT
    conversation.id, conversation.title, conversation.owner_user_id, conversation.created_at,
    conversation.updated_at, conversation.last_preview, conversation.group_id, conversation.metadata,
    conversation.forked_at_conversation_id, conversation.forked_at_message_id, conversation.forked_from_message_id
FROM conversations AS conversation
WHERE conversation.id = (SELECT conversation_id FROM messages WHERE messages.id = $1)
    AND conversation.first_message_id = $1
