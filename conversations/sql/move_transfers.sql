-- A transfer belongs to the group: if its conversation is deleted, it moves to the root. The root is locked
-- before something refers to it: see fork_conversation.
WITH root AS MATERIALIZED (
    SELECT id
    FROM conversations
    WHERE
        group_id = $1
        AND forked_at_conversation_id IS NULL
        AND EXISTS (SELECT FROM transfers WHERE conversation_id = ANY($2::uuid[]))
    FOR NO KEY UPDATE
)
UPDATE transfers SET conversation_id = root.id FROM root WHERE conversation_id = ANY($2::uuid[])
