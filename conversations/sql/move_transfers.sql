-- A transfer belongs to the group: if its conversation is deleted, it moves to the root.
UPDATE transfers
SET conversation_id = (
    SELECT id FROM conversations WHERE group_id = $1 AND forked_at_conversation_id IS NULL
)
WHERE conversation_id = ANY($2::uuid[])
