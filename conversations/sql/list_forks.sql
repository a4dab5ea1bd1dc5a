-- The group of $1, root first, then oldest first; after the fork $2, at most $3.
SELECT
    fork.id, fork.group_id, fork.forked_from_message_id, fork.forked_at_message_id,
    fork.forked_at_conversation_id, fork.title, fork.created_at
FROM conversations AS fork
LEFT JOIN conversations AS last ON last.id = $2::uuid
WHERE
    fork.group_id = (SELECT group_id FROM conversations WHERE id = $1)
    AND (
        last.id IS NULL
        OR (fork.forked_at_conversation_id IS NOT NULL, fork.created_at, fork.id)
            > (last.forked_at_conversation_id IS NOT NULL, last.created_at, last.id)
    )
ORDER BY fork.forked_at_conversation_id IS NOT NULL, fork.created_at, fork.id
LIMIT $3
