-- Part of a statement: `near`, the 120 memories whose embedding is closest to the asked one.
--
-- Few embeddings are compared one by one: nothing is missed. Of many, the index of their dimension
-- proposes candidates, off a copy in half precision, and these are compared.
embedded AS MATERIALIZED (
    SELECT count(*) AS size
    FROM (
        SELECT
        FROM memory_plugin.memory_namespaces AS place
        JOIN memory_plugin.memory_records AS stored ON stored.namespace = place.name
        WHERE
            place.name = ANY($1::text[])
            AND (place.expires_at IS NULL OR place.expires_at > now())
            AND stored.embedding IS NOT NULL
            AND vector_dims(stored.embedding) = {dimension}
        LIMIT {few} + 1
    ) AS counted
),
way AS MATERIALIZED (
    SELECT
        embedded.size > {few}
        AND vector_norm({embedding}::vector) > 0
        AND EXISTS (
            SELECT FROM pg_index
            WHERE indexrelid = to_regclass('memory_plugin.{index}') AND indisvalid
        ) AS indexed
    FROM embedded
),
compared AS (
    SELECT stored.id, stored.pin, stored.created_at, stored.embedding
    FROM memory_plugin.memory_namespaces AS place
    JOIN memory_plugin.memory_records AS stored ON stored.namespace = place.name
    WHERE
        NOT (SELECT indexed FROM way)
        AND place.name = ANY($1::text[])
        AND (place.expires_at IS NULL OR place.expires_at > now())
        AND stored.embedding IS NOT NULL
        AND vector_dims(stored.embedding) = {dimension}
        AND ($2::text[] IS NULL OR stored.kind = ANY($2))
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
),
proposed AS (
    SELECT stored.id, stored.pin, stored.created_at, stored.embedding
    FROM memory_plugin.memory_records AS stored
    WHERE
        (SELECT indexed FROM way)
        -- IS TRUE hides these two conditions from the other indexes and from a join before this one.
        AND (vector_dims(stored.embedding) = {dimension}) IS TRUE
        AND (
            stored.namespace IN (
                SELECT place.name
                FROM memory_plugin.memory_namespaces AS place
                WHERE
                    place.name = ANY($1::text[])
                    AND (place.expires_at IS NULL OR place.expires_at > now())
            )
        ) IS TRUE
        AND ($2::text[] IS NULL OR stored.kind = ANY($2))
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
    ORDER BY stored.embedding::halfvec({dimension}) <=> {embedding}::vector::halfvec({dimension})
    LIMIT 120
),
near AS (
    -- A vector of zeros points nowhere: as far from everything as a right angle.
    SELECT
        id, pin, created_at,
        1 - coalesce(nullif(embedding <=> {embedding}::vector, 'NaN'), 1) AS score
    FROM (TABLE compared UNION ALL TABLE proposed) AS candidate
    ORDER BY score DESC, created_at DESC, id
    LIMIT 120
)
