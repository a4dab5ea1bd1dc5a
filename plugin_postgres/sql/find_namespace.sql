SELECT name, kind, created_at, expires_at, metadata, coalesce(expires_at <= now(), false) AS expired
FROM memory_plugin.memory_namespaces
WHERE name = $1
