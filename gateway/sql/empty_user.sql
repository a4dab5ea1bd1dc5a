-- Deletes some sessions of a deleted user, with everything in them.
WITH gone AS (
    DELETE FROM sessions
    WHERE id IN (SELECT id FROM sessions WHERE owner = $1 ORDER BY id LIMIT $2)
    RETURNING id, owner, namespace
)
INSERT INTO deletions (owner, session, namespace)
SELECT owner, id, namespace FROM gone
