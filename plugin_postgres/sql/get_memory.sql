-- A live memory, whoever owns it.
SELECT
    stored.id, stored.namespace, stored.content, stored.kind, stored.source, stored.created_at,
    stored.expires_at, stored.propagation, stored.pin
FROM memory_plugin.memory_records AS stored
JOIN memory_plugin.memory_namespaces AS home ON home.name = stored.namespace
WHERE
    stored.id = $1
    AND (stored.expires_at IS NULL OR stored.expires_at > now())
    AND (home.expires_at IS NULL OR home.expires_at > now())
