-- Part of a statement: one page in id order, the next of each namespace off its index, then the first
-- of them all.
SELECT
    memory.id, memory.namespace, memory.content, memory.kind, memory.source, memory.created_at,
    memory.expires_at, memory.propagation, memory.pin
FROM memory_plugin.memory_namespaces AS home
CROSS JOIN LATERAL (
    SELECT *
    FROM memory_plugin.memory_records AS stored
    WHERE
        stored.namespace = home.name
        AND stored.id >= $2
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
    ORDER BY stored.id
    LIMIT $3
) AS memory
WHERE home.name = ANY($1::text[]) AND (home.expires_at IS NULL OR home.expires_at > now())
ORDER BY memory.id
LIMIT $3
