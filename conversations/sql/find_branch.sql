-- The conversation $1 and all forks below it.
WITH RECURSIVE branch AS (
    SELECT id FROM conversations WHERE id = $1
    UNION
    SELECT fork.id
    FROM branch
    JOIN conversations AS fork ON fork.forked_at_conversation_id = branch.id
)
SELECT id FROM branch
