-- Part of a statement: like search_hits, for many namespaces of a few families. A lookup then takes one key per
-- family instead of one per namespace.
--
-- No lookup reads more than $17 memories. Usually all of them belong to the given namespaces, and these are live, so
-- that is only checked if $29 is true; otherwise the caller is told which namespaces they belong to. $27 finds pinned
-- memories in the family index. $1 are the names of the namespaces without the prefix $28 that they share; there are
-- none if only lookups are needed, because passing thousands of names takes longer than looking them up.
asked AS MATERIALIZED (
    SELECT unnest($1::text::text[]) AS ending
),
home AS MATERIALIZED (
    SELECT namespace.name
    FROM asked
    CROSS JOIN LATERAL (
        SELECT living.name
        FROM memory_plugin.memory_namespaces AS living
        WHERE
            living.name = $28::text || asked.ending
            AND (living.expires_at IS NULL OR living.expires_at > now())
        OFFSET 0
    ) AS namespace
),
probed AS MATERIALIZED (
    SELECT look.number, look.clue, memory.*
    FROM unnest($15::text::tsquery[], $16::text::integer[]) WITH ORDINALITY AS look (keys, clue, number)
    CROSS JOIN LATERAL (
        SELECT
            stored.id, stored.namespace, stored.kind, stored.pin, stored.created_at, stored.expires_at,
            stored.propagation, stored.content_tsv
        FROM memory_plugin.memory_records AS stored
        -- PostgreSQL uses the index only if its condition is repeated here.
        WHERE
            stored.namespace LIKE '%:%:%'
            AND memory_plugin.search_family_keys(
                stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
            ) @@ look.keys
        LIMIT $17::bigint
    ) AS memory
),
hit AS MATERIALIZED (
    SELECT stored.number, stored.clue, stored.id, stored.pin, stored.created_at, stored.content_tsv
    FROM probed AS stored
    WHERE
        CASE
            WHEN NOT $29 THEN true
            WHEN NOT starts_with(stored.namespace, $28) THEN false
            WHEN substr(stored.namespace, length($28) + 1) NOT IN (SELECT asked.ending FROM asked) THEN false
            ELSE (
                SELECT living.expires_at IS NULL OR living.expires_at > now()
                FROM memory_plugin.memory_namespaces AS living
                WHERE living.name = stored.namespace
            )
        END
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
        AND ($5::timestamptz IS NULL OR stored.created_at >= $5)
        AND ($6::timestamptz IS NULL OR stored.created_at < $6)
-- include: search_filter
),
pinned AS (
    SELECT true AS exist FROM memory_plugin.memory_records AS stored
    WHERE
        stored.namespace LIKE '%:%:%'
        AND memory_plugin.search_family_keys(
            stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
        ) @@ $27::tsquery
    LIMIT (SELECT 1)
)
