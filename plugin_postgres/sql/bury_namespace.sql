-- From now on nobody can read it, write into it or rescue it; its rows go afterwards.
UPDATE memory_plugin.memory_namespaces
SET expires_at = '-infinity'
WHERE name = $1 AND (expires_at IS NULL OR expires_at > now())
RETURNING name
