-- Memories with the words of the query: pinned ones first, then the best. What is not worth a fifth of
-- the best is left out.
WITH found AS MATERIALIZED (
    SELECT * FROM memory_plugin.search_found($1, $2, $3, $4, $5, $6, $7)
),
best AS (
    SELECT id, score
    FROM found
    WHERE score >= 0.2 * (SELECT max(score) FROM found)
    ORDER BY pin DESC, score DESC, created_at DESC, id
    LIMIT $3
)
SELECT
    stored.id, stored.namespace, stored.content, stored.kind, stored.source, stored.created_at,
    stored.expires_at, stored.propagation, stored.pin, best.score
FROM best
JOIN memory_plugin.memory_records AS stored USING (id)
ORDER BY stored.pin DESC, best.score DESC, stored.created_at DESC, stored.id
