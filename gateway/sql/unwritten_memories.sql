SELECT id, type, created_at, text
FROM memories
WHERE session = $1 AND text IS NOT NULL AND deleted_at IS NULL AND id <> ALL($3::uuid[])
ORDER BY batch, position
LIMIT $2
