-- The newest memories of each namespace from its index, then the newest of them all; pinned ones first.
-- Ids are returned as text, which the driver decodes faster.
SELECT
    memory.id::text, memory.namespace, memory.content, memory.kind, memory.source, memory.created_at,
    memory.expires_at, memory.propagation, memory.pin
FROM memory_plugin.memory_namespaces AS home
CROSS JOIN LATERAL (
    SELECT *
    FROM memory_plugin.memory_records AS stored
    WHERE
        stored.namespace = home.name
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
    ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
    LIMIT $2
) AS memory
WHERE home.name = ANY($1::text[]) AND (home.expires_at IS NULL OR home.expires_at > now())
ORDER BY memory.pin DESC, memory.created_at DESC, memory.id
LIMIT $2
