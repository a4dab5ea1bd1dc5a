INSERT INTO memory_plugin.memory_namespaces (name, kind, expires_at, metadata)
VALUES ($1, $2, $3, $4::jsonb)
ON CONFLICT (name) DO NOTHING
RETURNING name, kind, created_at, expires_at, metadata
