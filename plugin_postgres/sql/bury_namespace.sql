-- From now on nobody can read, write or restore the namespace; its rows are deleted afterwards.
UPDATE memory_plugin.memory_namespaces
SET expires_at = '-infinity'
WHERE name = $1 AND (expires_at IS NULL OR expires_at > now())
RETURNING name
