-- Change a live namespace; $4 and $6 are whether the field was in the body.
UPDATE memory_plugin.memory_namespaces
SET
    kind = $2,
    expires_at = CASE WHEN $4 THEN $3::timestamptz ELSE expires_at END,
    metadata = CASE WHEN $6 THEN $5::jsonb ELSE metadata END
WHERE name = $1 AND (expires_at IS NULL OR expires_at > now())
RETURNING name, kind, created_at, expires_at, metadata
