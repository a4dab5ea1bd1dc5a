-- Part of a statement: `counted`, every live memory of the namespaces that matches, found by the word index if it
-- covers the filter, otherwise by the index on time.
home AS MATERIALIZED (
    SELECT
        name,
        memory_plugin.search_in(
            nullif(substr(memory_plugin.search_filter($2::text[], $3::jsonb), 4), ''),
            ARRAY[memory_plugin.search_mark(name)]
        ) AS keys
    FROM memory_plugin.memory_namespaces
    WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > now())
),
counted AS (
    SELECT memory.propagation
    FROM home
    CROSS JOIN LATERAL (
        SELECT stored.propagation
        FROM memory_plugin.memory_records AS stored
        WHERE
            memory_plugin.search_keys(
                stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
            ) @@ home.keys
            AND (stored.namespace = home.name) IS TRUE
            AND ($2 IS NULL OR stored.kind = ANY($2))
            AND ($3 IS NULL OR stored.propagation @> $3)
            AND ($4::timestamptz IS NULL OR stored.created_at >= $4)
            AND ($5::timestamptz IS NULL OR stored.created_at < $5)
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
        OFFSET 0
    ) AS memory
    WHERE home.keys IS NOT NULL
    UNION ALL
    SELECT memory.propagation
    FROM home
    CROSS JOIN (VALUES (true), (false)) AS pinned (pin)
    CROSS JOIN LATERAL (
        SELECT stored.propagation
        FROM memory_plugin.memory_records AS stored
        WHERE
            stored.namespace = home.name
            AND stored.pin = pinned.pin
            AND stored.created_at >= coalesce($4, '-infinity')
            AND stored.created_at <= coalesce($5, 'infinity')
            AND ($5 IS NULL OR stored.created_at < $5)
            AND ($2 IS NULL OR stored.kind = ANY($2))
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
        OFFSET 0
    ) AS memory
    WHERE home.keys IS NULL
)
