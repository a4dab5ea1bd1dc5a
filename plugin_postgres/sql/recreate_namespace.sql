-- An expired namespace as new; its old rows are gone by now.
UPDATE memory_plugin.memory_namespaces
SET kind = $2, expires_at = $3, metadata = $4::jsonb, created_at = now()
WHERE name = $1
RETURNING name, kind, created_at, expires_at, metadata
