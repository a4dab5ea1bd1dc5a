-- The memories whose embedding is closest to the asked one; of these, pinned ones first.
WITH
-- Part of a statement: `near`, the 40 memories whose embedding is closest to the asked one.
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
                WHERE stored.dimension = 3 AND stored.namespace = place.name
                OFFSET 0
            ) AS embedded
            OFFSET sqrt(700 * greatest(reltuples, 1))::bigint
        )
        AND vector_norm($4::vector) > 0 AS indexed
    FROM pg_class
    JOIN pg_index ON indexrelid = pg_class.oid
    WHERE pg_class.oid = to_regclass('memory_plugin.memory_records_embedding_3') AND indisvalid
),
compared AS (
    SELECT embedded.*
    FROM place
    -- OFFSET 0 keeps this a look-up for each namespace, however the table is estimated.
    CROSS JOIN LATERAL (
        SELECT stored.id, stored.pin, stored.created_at, stored.embedding
        FROM memory_plugin.memory_records AS stored
        WHERE
            stored.dimension = 3
            AND stored.namespace = place.name
            AND ($2::text[] IS NULL OR stored.kind = ANY($2))
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
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
        AND (stored.dimension = 3) IS TRUE
        AND (stored.namespace IN (SELECT place.name FROM place)) IS TRUE
        AND ($2::text[] IS NULL OR stored.kind = ANY($2))
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
    ORDER BY stored.embedding::halfvec(3) <=> $4::vector::halfvec(3)
    LIMIT 40
),
near AS (
    -- A vector of zeros points nowhere: as far from everything as a right angle.
    SELECT
        id, pin, created_at,
        1 - coalesce(nullif(embedding <=> $4::vector, 'NaN'), 1) AS score
    FROM (TABLE compared UNION ALL TABLE proposed) AS candidate
    ORDER BY score DESC, created_at DESC, id
    LIMIT 40
)

SELECT
    stored.id, stored.namespace, stored.content, stored.kind, stored.source, stored.created_at,
    stored.expires_at, stored.propagation, stored.pin, best.score
FROM (SELECT id, score FROM near ORDER BY score DESC, created_at DESC, id LIMIT $3) AS best
JOIN memory_plugin.memory_records AS stored USING (id)
ORDER BY stored.pin DESC, best.score DESC, stored.created_at DESC, stored.id
