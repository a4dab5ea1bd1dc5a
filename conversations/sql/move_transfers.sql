-- A transfer is of the group: when the conversation it was begun in goes, the root stands for it.
UPDATE transfers
SET conversation_id = (
    SELECT id FROM conversations WHERE group_id = $1 AND forked_at_conversation_id IS NULL
)
WHERE conversation_id = ANY($2::uuid[])
