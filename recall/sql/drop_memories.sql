DELETE FROM memories WHERE id = ANY($1::uuid[])
