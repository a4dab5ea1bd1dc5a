SELECT count(*) FROM memories WHERE id = ANY($1::uuid[]) AND deleted_at IS NULL
