-- Words and embedding together. Each list is brought to the span from 0 to 1, words by the best of them,
-- likeness from the least to the greatest of its list; words count 0.6, likeness 0.4. So a list that
-- tells memories apart counts for more than one in which all are alike. Of the best, pinned first.
--
-- $3 is six times the limit: a short list of words would leave out memories that are good in both without
-- being best in one.
WITH
-- include: search_hits
,
-- include: search_found
,
-- include: search_vectors
, fused AS (
    SELECT id, sum(share) AS score
    FROM (
        SELECT id, created_at, 0.6 * score / max(score) OVER () AS share
        FROM found
        UNION ALL
        SELECT
            id, created_at,
            0.4 * coalesce(
                (score - min(score) OVER ()) / nullif(max(score) OVER () - min(score) OVER (), 0), 1
            )
        FROM near
    ) AS listed
    GROUP BY id, created_at
    ORDER BY score DESC, created_at DESC, id
    LIMIT $3 / 6
)
SELECT
    stored.id, stored.namespace, stored.content, stored.kind, stored.source, stored.created_at,
    stored.expires_at, stored.propagation, stored.pin, fused.score
FROM fused
JOIN memory_plugin.memory_records AS stored USING (id)
ORDER BY stored.pin DESC, fused.score DESC, stored.created_at DESC, stored.id
