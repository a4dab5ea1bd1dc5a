-- $1: comma-separated ids; $2: their access counts, comma-separated; $3: the time.
UPDATE memories
SET access_count = access_count + used.count, last_accessed_at = greatest(last_accessed_at, $3)
FROM unnest(string_to_array($1, ',')::uuid[], string_to_array($2, ',')::bigint[]) AS used (id, count)
WHERE memories.id = used.id
