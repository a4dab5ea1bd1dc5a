UPDATE memories
SET
    access_count = access_count + used.count,
    last_accessed_at = greatest(last_accessed_at, used.accessed_at)
FROM unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) AS used (id, count, accessed_at)
WHERE memories.id = used.id
