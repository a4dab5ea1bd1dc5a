-- Part of a statement: the best of what was found, pinned memories first. What scores less than a fifth of the best
-- is left out.
SELECT
    stored.id, stored.namespace, stored.content, stored.kind, stored.source, stored.created_at,
    stored.expires_at, stored.propagation, stored.pin, answer.score
FROM (
    SELECT *
    FROM found
    WHERE score >= 0.2 * (SELECT max(score) FROM found)
    ORDER BY pin DESC, score DESC, created_at DESC, id
    LIMIT $3
) AS answer
CROSS JOIN LATERAL (
    SELECT * FROM memory_plugin.memory_records AS any_stored WHERE any_stored.id = answer.id OFFSET 0
) AS stored
ORDER BY answer.pin DESC, answer.score DESC, answer.created_at DESC, answer.id
