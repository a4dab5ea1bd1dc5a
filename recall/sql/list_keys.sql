SELECT id, name, disabled, created_at FROM api_keys ORDER BY created_at, id
