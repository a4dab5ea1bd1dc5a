-- A message that the user $2 may see.
SELECT message.created_at, message.sequence
FROM messages AS message
JOIN memberships AS membership
    ON membership.group_id = message.group_id AND membership.user_id = $2
WHERE message.id = $1 AND message.channel = 'HISTORY' AND message.visibility = 'user'
