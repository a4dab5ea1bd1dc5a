-- The position of the conversation $1 in the list of the user $2.
SELECT conversation.updated_at
FROM conversations AS conversation
JOIN memberships AS membership
    ON membership.group_id = conversation.group_id AND membership.user_id = $2
WHERE conversation.id = $1
