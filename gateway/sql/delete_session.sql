-- Deletes the session and everything in it; the plugin deletes it afterwards.
WITH gone AS (
    DELETE FROM sessions
    WHERE owner = $1 AND app_id = $2 AND project_id = $3 AND name = $4
    RETURNING id, owner, namespace
)
INSERT INTO deletions (owner, session, namespace, try_at)
SELECT owner, id, namespace, now() + interval '5 seconds'
FROM gone
RETURNING id, session, namespace, memory_id
