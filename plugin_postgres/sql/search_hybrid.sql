-- Words and embedding together. Both scores are scaled to the range from 0 to 1, words by the best word score, cosines
-- from the lowest to the highest; words count 0.6, cosines 0.4. So a list whose scores differ counts for more than one
-- whose scores are about equal. Among the best, pinned memories come first.
--
-- $3 is six times the limit: a short list of word matches would leave out memories that are good in both without
-- being the best in one.
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
