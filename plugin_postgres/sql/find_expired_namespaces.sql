SELECT name FROM memory_plugin.memory_namespaces
WHERE expires_at <= now() - $1::interval
ORDER BY expires_at
LIMIT $2
