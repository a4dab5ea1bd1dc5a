WITH done AS (
    DELETE FROM deletions WHERE id = $1 RETURNING memory_id
)
DELETE FROM memories USING done WHERE memories.id = done.memory_id
