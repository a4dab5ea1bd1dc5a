-- The namespace itself, and with it any row that was written while it was being emptied.
DELETE FROM memory_plugin.memory_namespaces
WHERE name = $1 AND expires_at <= now() - $2::interval
