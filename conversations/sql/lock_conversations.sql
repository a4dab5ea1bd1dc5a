SELECT id FROM conversations WHERE id = ANY($1::uuid[]) ORDER BY id FOR UPDATE
