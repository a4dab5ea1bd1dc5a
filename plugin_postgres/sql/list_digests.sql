-- As list_memories, but a hash in place of the content.
SELECT
    memory.id, memory.namespace,
    encode(sha256(convert_to(memory.content, 'UTF8')), 'hex') AS content_sha256
FROM memory_plugin.memory_namespaces AS home
CROSS JOIN LATERAL (
    SELECT stored.id, stored.namespace, stored.content
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
