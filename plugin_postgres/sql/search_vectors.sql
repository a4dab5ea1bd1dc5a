-- Part of a statement: `near`, the {candidates} memories whose embedding is closest to the asked one.
--
-- Few embeddings are compared one by one: nothing is missed. Of many, the index of their dimension
-- proposes candidates, off a copy in half precision, and these are compared. The index looks at
-- the neighbourhood wherever it lies and passes over other namespaces, so the smaller the part of
-- it that may be found, the longer it takes: up to the square root of 700 times its size,
-- comparing one by one is faster.
place AS MATERIALIZED (
    SELECT name
    FROM memory_plugin.memory_namespaces
    WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > now())
),
way AS MATERIALIZED (
    SELECT
        EXISTS (
            SELECT FROM place
            CROSS JOIN LATERAL (
                SELECT FROM memory_plugin.memory_records AS stored
                WHERE stored.dimension = {dimension} AND stored.namespace = place.name
                OFFSET 0
            ) AS embedded
            OFFSET sqrt(700 * greatest(reltuples, 1))::bigint
        )
        AND vector_norm({embedding}::vector) > 0 AS indexed
    FROM pg_class
    JOIN pg_index ON indexrelid = pg_class.oid
    WHERE pg_class.oid = to_regclass('memory_plugin.{index}') AND indisvalid
),
compared AS (
    SELECT embedded.*
    FROM place
    -- OFFSET 0 keeps this a look-up for each namespace, however the table is estimated.
    CROSS JOIN LATERAL (
        SELECT stored.id, stored.pin, stored.created_at, stored.embedding
        FROM memory_plugin.memory_records AS stored
        WHERE
            stored.dimension = {dimension}
            AND stored.namespace = place.name
            AND ($5::timestamptz IS NULL OR stored.created_at >= $5)
            AND ($6::timestamptz IS NULL OR stored.created_at < $6)
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
        OFFSET 0
    ) AS embedded
    WHERE (SELECT indexed FROM way) IS NOT TRUE
),
proposed AS (
    SELECT stored.id, stored.pin, stored.created_at, stored.embedding
    FROM memory_plugin.memory_records AS stored
    WHERE
        (SELECT indexed FROM way)
        -- IS TRUE hides these two conditions from the other indexes and from a join before this one.
        AND (stored.dimension = {dimension}) IS TRUE
        AND (stored.namespace IN (SELECT place.name FROM place)) IS TRUE
        -- And CASE hides what these refuse, which is nothing where there is no filter.
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
    -- A vector of zeros points nowhere: as far from everything as a right angle.
    SELECT
        id, pin, created_at,
        1 - coalesce(nullif(embedding <=> {embedding}::vector, 'NaN'), 1) AS score
    FROM (TABLE compared UNION ALL TABLE proposed) AS candidate
    ORDER BY score DESC, created_at DESC, id
    LIMIT {candidates}
)
