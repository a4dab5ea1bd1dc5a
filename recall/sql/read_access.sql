SELECT id, access_count, last_accessed_at FROM memories WHERE id = ANY($1::uuid[])
