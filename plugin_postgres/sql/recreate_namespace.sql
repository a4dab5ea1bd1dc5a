-- Make an expired namespace new again; its old rows have been deleted.
UPDATE memory_plugin.memory_namespaces
SET kind = $2, expires_at = $3, metadata = $4::jsonb, created_at = now()
WHERE name = $1
RETURNING name, kind, created_at, expires_at, metadata
