-- Pending transfers of the user $1 as sender ($2) or recipient ($3), newest first; after the position
-- ($4, $5), at most $6.
SELECT
    transfer.id, transfer.group_id, transfer.conversation_id, conversation.title, transfer.from_user_id,
    transfer.to_user_id, transfer.status, transfer.created_at, transfer.updated_at
FROM transfers AS transfer
JOIN conversations AS conversation ON conversation.id = transfer.conversation_id
WHERE
    transfer.status = 'pending'
    AND (($2 AND transfer.from_user_id = $1) OR ($3 AND transfer.to_user_id = $1))
    AND transfer.created_at <= $4
    AND (transfer.created_at < $4 OR transfer.id > $5)
ORDER BY transfer.created_at DESC, transfer.id
LIMIT $6
