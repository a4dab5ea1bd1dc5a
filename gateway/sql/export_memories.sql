SELECT memory.id, memory.type, memory.created_at, memory.edited_at, memory.extra::text
FROM memories AS memory
WHERE memory.session = $1 AND memory.text IS NULL AND memory.deleted_at IS NULL
ORDER BY memory.created_at, memory.batch, memory.position
