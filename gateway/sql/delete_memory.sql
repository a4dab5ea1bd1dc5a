-- Takes effect at once; the plugin deletes it afterwards. A question about the same turn is deleted, too.
WITH gone AS (
    UPDATE memories SET deleted_at = now(), text = NULL
    FROM sessions
    WHERE
        memories.id = $2
        AND sessions.id = memories.session
        AND sessions.owner = $1
        AND memories.deleted_at IS NULL
    RETURNING memories.id, memories.session, sessions.namespace
),
unasked AS (
    DELETE FROM questions USING gone
    WHERE questions.session = gone.session AND gone.id = ANY(questions.memories)
)
INSERT INTO deletions (owner, session, namespace, memory_id, try_at)
SELECT $1, session, namespace, id, now() + interval '5 seconds'
FROM gone
RETURNING id, session, namespace, memory_id
