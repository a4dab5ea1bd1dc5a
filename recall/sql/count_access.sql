UPDATE memories
SET access_count = access_count + used.count, last_accessed_at = greatest(last_accessed_at, $3)
FROM unnest($1::uuid[], $2::bigint[]) AS used (id, count)
WHERE memories.id = used.id
