-- Part of a statement: `home`, the live namespaces; `hit`, what the lookups in the word index find; and `pinned`,
-- whether any memory is pinned. The parameters are those of search_found.
home AS MATERIALIZED (
    SELECT name
    FROM memory_plugin.memory_namespaces
    WHERE name = ANY($1::text::text[]) AND (expires_at IS NULL OR expires_at > now())
),
hit AS MATERIALIZED (
    SELECT look.number, look.clue, memory.*
    FROM unnest($15::text::tsquery[], $16::text::integer[]) WITH ORDINALITY AS look (keys, clue, number)
    CROSS JOIN LATERAL (
        SELECT probed.*
        FROM (
            SELECT stored.id, stored.pin, stored.created_at, stored.content_tsv
            FROM memory_plugin.memory_records AS stored
            WHERE
                memory_plugin.search_keys(
                    stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
                ) @@ look.keys
-- include: search_look
            -- With a time range, at most 2,000 are read; the newest in the range are checked anyway.
            LIMIT CASE WHEN $5::timestamptz IS NULL AND $6::timestamptz IS NULL THEN $17::bigint ELSE 2000 END
        ) AS probed
        WHERE ($5 IS NULL OR probed.created_at >= $5) AND ($6 IS NULL OR probed.created_at < $6)
        LIMIT $17
    ) AS memory
),
pinned AS (
    -- A limit that is unknown to the planner keeps PostgreSQL from scanning the table instead.
    SELECT true AS exist FROM memory_plugin.memory_records AS stored
    WHERE stored.namespace = ANY(ARRAY(SELECT home.name FROM home)) AND stored.pin
    LIMIT (SELECT 1)
)
