-- Like refresh_namespace without the kind. A later expires_at, or none, restores a namespace that has expired.
-- '-infinity' means that it was deleted and cannot be restored.
UPDATE memory_plugin.memory_namespaces
SET
    expires_at = CASE WHEN $3 THEN $2::timestamptz ELSE expires_at END,
    metadata = CASE WHEN $5 THEN $4::jsonb ELSE metadata END
WHERE
    name = $1
    AND (
        expires_at IS NULL
        OR expires_at > now()
        OR (expires_at > '-infinity' AND $3 AND ($2::timestamptz IS NULL OR $2 > now()))
    )
RETURNING name, kind, created_at, expires_at, metadata
