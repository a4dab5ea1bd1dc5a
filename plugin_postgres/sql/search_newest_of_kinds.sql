-- Like search_newest, for some kinds or a time range: one kind at a time, because the index skips other kinds
-- quickly.
SELECT
    memory.id, memory.namespace, memory.content, memory.kind, memory.source, memory.created_at,
    memory.expires_at, memory.propagation, memory.pin
FROM memory_plugin.memory_namespaces AS home
CROSS JOIN unnest(coalesce($2::text[], '{fact,summary,checkpoint}')) AS wanted (kind)
CROSS JOIN (VALUES (true), (false)) AS pinned (pin)
CROSS JOIN LATERAL (
    SELECT *
    FROM memory_plugin.memory_records AS stored
    WHERE
        stored.namespace = home.name
        AND stored.kind = wanted.kind
        AND stored.pin = pinned.pin
        AND stored.created_at >= coalesce($4::timestamptz, '-infinity')
        AND stored.created_at < coalesce($5::timestamptz, 'infinity')
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
    ORDER BY stored.created_at DESC, stored.id
    LIMIT $3
) AS memory
WHERE home.name = ANY($1::text[]) AND (home.expires_at IS NULL OR home.expires_at > now())
ORDER BY memory.pin DESC, memory.created_at DESC, memory.id
LIMIT $3
