-- Words and embedding together, fused by rank: a memory that is high in both lists comes first.
-- Equal ones share their place, so that neither list decides what only the other can tell.
-- Of the best, pinned ones first.
WITH
-- include: search_words
,
-- include: search_vectors
, listed AS (
    (
        SELECT id, created_at, rank() OVER (ORDER BY score DESC) AS place
        FROM found
        ORDER BY place, created_at DESC, id
        LIMIT {candidates}
    )
    UNION ALL
    SELECT id, created_at, rank() OVER (ORDER BY score DESC)
    FROM near
),
best AS (
    SELECT id, sum(1.0 / (60 + place))::double precision AS score
    FROM listed
    GROUP BY id, created_at
    ORDER BY score DESC, created_at DESC, id
    LIMIT $3
)
SELECT
    stored.id, stored.namespace, stored.content, stored.kind, stored.source, stored.created_at,
    stored.expires_at, stored.propagation, stored.pin, best.score
FROM best
JOIN memory_plugin.memory_records AS stored USING (id)
ORDER BY stored.pin DESC, best.score DESC, stored.created_at DESC, stored.id
