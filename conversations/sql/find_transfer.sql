-- A transfer, for one of its two parties ($2).
SELECT
    transfer.id, transfer.group_id, transfer.conversation_id, conversation.title, transfer.from_user_id,
    transfer.to_user_id, transfer.status, transfer.created_at, transfer.updated_at
FROM transfers AS transfer
JOIN conversations AS conversation ON conversation.id = transfer.conversation_id
WHERE transfer.id = $1 AND $2 IN (transfer.from_user_id, transfer.to_user_id)
