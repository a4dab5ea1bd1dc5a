-- Where a conversation that the user $2 can see stands in their list.
SELECT conversation.updated_at
FROM conversations AS conversation
JOIN memberships AS membership
    ON membership.group_id = conversation.group_id AND membership.user_id = $2
WHERE conversation.id = $1
