-- Part of a statement: `near`, the {candidates} memories whose embeddings are nearest to the given one.
--
-- A small number of embeddings is compared one by one, and nothing is missed. Otherwise the index of their dimension
-- proposes candidates. It explores the neighbourhood and skips memories that the search excludes, so the fewer are
-- left, the longer it takes: up to the square root of 700 times the size of the index, and never more than
-- {one_by_one}, comparing one by one is faster. What is left is counted by namespace, then by the filter, then by the
-- time range. Without an index, at most {unindexed} are compared.
place AS MATERIALIZED (
    SELECT
        name,
        memory_plugin.search_in(
            nullif(substr(memory_plugin.search_filter($2::text[], $4::jsonb), 4), ''),
            ARRAY[memory_plugin.search_mark(name)]
        ) AS keys
    FROM memory_plugin.memory_namespaces
    WHERE name = ANY($1::text::text[]) AND (expires_at IS NULL OR expires_at > now())
),
indexed AS MATERIALIZED (
    SELECT least(sqrt(700 * greatest(reltuples, 1)), {one_by_one})::bigint AS bound
    FROM pg_class
    JOIN pg_index ON indexrelid = pg_class.oid
    WHERE
        pg_class.oid = to_regclass('memory_plugin.{index}')
        AND indisvalid
        AND vector_norm({embedding}::vector) > 0
),
all_embedded AS MATERIALIZED (
    SELECT (SELECT count(*) FROM indexed) = 0 OR NOT EXISTS (
        SELECT FROM place
        CROSS JOIN LATERAL (
            SELECT FROM memory_plugin.memory_records AS stored
            WHERE stored.dimension = {dimension} AND stored.namespace = place.name
            OFFSET 0
        ) AS embedded
        OFFSET (SELECT bound FROM indexed)
    ) AS are_few
),
filtered AS MATERIALIZED (
    SELECT memory.id
    FROM place
    CROSS JOIN LATERAL (
        SELECT stored.id
        FROM memory_plugin.memory_records AS stored
        WHERE
            memory_plugin.search_keys(
                stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
            ) @@ place.keys
            AND (stored.namespace = place.name) IS TRUE
            AND (stored.dimension = {dimension}) IS TRUE
        OFFSET 0
    ) AS memory
    WHERE place.keys IS NOT NULL AND NOT (SELECT are_few FROM all_embedded)
    LIMIT (SELECT bound FROM indexed)
),
in_span AS MATERIALIZED (
    SELECT memory.id
    FROM place
    CROSS JOIN (VALUES (true), (false)) AS pinned (pin)
    CROSS JOIN LATERAL (
        SELECT stored.id
        FROM memory_plugin.memory_records AS stored
        WHERE
            stored.namespace = place.name
            AND stored.pin = pinned.pin
            AND stored.created_at >= coalesce($5::timestamptz, '-infinity')
            AND stored.created_at < coalesce($6::timestamptz, 'infinity')
        OFFSET 0
    ) AS memory
    WHERE ($5 IS NOT NULL OR $6 IS NOT NULL) AND NOT (SELECT are_few FROM all_embedded)
    LIMIT (SELECT bound FROM indexed)
),
way AS MATERIALIZED (
    SELECT CASE
        WHEN are_few THEN 'all'
        WHEN EXISTS (SELECT FROM place WHERE keys IS NOT NULL)
            AND (SELECT count(*) FROM filtered) < (SELECT bound FROM indexed) THEN 'filter'
        WHEN ($5 IS NOT NULL OR $6 IS NOT NULL)
            AND (SELECT count(*) FROM in_span) < (SELECT bound FROM indexed) THEN 'span'
        ELSE 'index'
    END AS way
    FROM all_embedded
),
compared AS (
    SELECT stored.id, stored.pin, stored.created_at, stored.embedding
    FROM (
        SELECT embedded.*
        FROM place
        -- OFFSET 0 forces one lookup per namespace, whatever the planner's estimates are.
        CROSS JOIN LATERAL (
            SELECT *
            FROM memory_plugin.memory_records AS any_stored
            WHERE any_stored.dimension = {dimension} AND any_stored.namespace = place.name
            OFFSET 0
        ) AS embedded
        WHERE (SELECT way FROM way) = 'all'
        LIMIT {unindexed}
    ) AS stored
    WHERE
        ($5 IS NULL OR stored.created_at >= $5)
        AND ($6 IS NULL OR stored.created_at < $6)
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
),
chosen AS (
    SELECT stored.id, stored.pin, stored.created_at, stored.embedding
    FROM (
        SELECT id FROM filtered WHERE (SELECT way FROM way) = 'filter'
        UNION ALL
        SELECT id FROM in_span WHERE (SELECT way FROM way) = 'span'
    ) AS few
    -- One by one, also when the planner expects a small table: it may have grown since.
    CROSS JOIN LATERAL (
        SELECT * FROM memory_plugin.memory_records AS any_stored WHERE any_stored.id = few.id OFFSET 0
    ) AS stored
    WHERE
        stored.dimension = {dimension}
        AND ($5 IS NULL OR stored.created_at >= $5)
        AND ($6 IS NULL OR stored.created_at < $6)
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
),
proposed AS (
    SELECT stored.id, stored.pin, stored.created_at, stored.embedding
    FROM memory_plugin.memory_records AS stored
    WHERE
        (SELECT way FROM way) = 'index'
        -- IS TRUE hides these two conditions from the other indexes and from a join before this one.
        AND (stored.dimension = {dimension}) IS TRUE
        AND (stored.namespace IN (SELECT place.name FROM place)) IS TRUE
        -- CASE hides the filter in the same way.
        AND CASE
            WHEN stored.expires_at <= now() THEN false
            WHEN $2 IS NOT NULL AND stored.kind <> ALL($2) THEN false
            WHEN $4 IS NOT NULL AND (stored.propagation @> $4) IS NOT TRUE THEN false
            WHEN $5 IS NOT NULL AND stored.created_at < $5 THEN false
            WHEN $6 IS NOT NULL AND stored.created_at >= $6 THEN false
            ELSE true
        END
    ORDER BY stored.embedding::halfvec({dimension}) <=> {embedding}::vector::halfvec({dimension})
    LIMIT {candidates}
),
near AS (
    -- A vector of zeros has no direction: it counts as perpendicular to everything.
    SELECT
        id, pin, created_at,
        -- In a subquery, the given embedding is converted once instead of for every row.
        1 - coalesce(nullif(embedding <=> (SELECT {embedding}::vector::halfvec), 'NaN'), 1) AS score
    FROM (TABLE compared UNION ALL TABLE chosen UNION ALL TABLE proposed) AS candidate
    ORDER BY score DESC, created_at DESC, id
    LIMIT {candidates}
)
