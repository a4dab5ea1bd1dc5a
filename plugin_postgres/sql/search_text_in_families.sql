-- Like search_text, for many namespaces of a few families. The first row describes the others: whether a lookup was
-- cut off, whether it has read enough all the same, whether pinned memories are missing because $1 is empty, whether
-- all namespaces that were found are live, and which these are. There are no other rows if one of them is not, or if a
-- lookup has not read enough.
WITH
-- include: search_hits_in_families
,
-- include: search_found
,
met AS MATERIALIZED (
    SELECT
        is_cut, names,
        -- If everything that it reads counts, one lookup that is cut off is as good as several.
        CASE WHEN is_cut THEN (SELECT count(*) FROM hit) = (SELECT count(*) FROM probed) ELSE true END AS is_enough,
        $1 = '{}' AND (SELECT state.needs_more FROM state) AND (SELECT pinned.exist FROM pinned) AS lacks_pinned,
        $29::boolean OR cardinality(names) = (
            SELECT count(*)
            FROM memory_plugin.memory_namespaces AS living
            WHERE living.name = ANY(names) AND (living.expires_at IS NULL OR living.expires_at > now())
        ) AS are_living
    FROM (
        SELECT
            bound.is_cut,
            CASE
                WHEN $29 THEN '{}'
                ELSE ARRAY(
                    SELECT DISTINCT probed.namespace
                    FROM probed
                    -- What is not among the best has changed nothing, unless it was read in place of something else.
                    WHERE bound.is_cut OR probed.id IN (SELECT best.id FROM best)
                )
            END AS names
        FROM (
            SELECT EXISTS (SELECT FROM probed GROUP BY probed.number HAVING count(*) >= $17) AS is_cut
            OFFSET 0
        ) AS bound
        OFFSET 0
    ) AS read
)
SELECT
    is_cut, is_enough, lacks_pinned, are_living, names,
    NULL::uuid, NULL, NULL, NULL, NULL, NULL::timestamptz, NULL::timestamptz, NULL::jsonb, NULL::boolean,
    NULL::double precision
FROM met
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, answer.*
FROM (
-- include: search_answer
) AS answer
WHERE (SELECT met.are_living AND met.is_enough FROM met)
