INSERT INTO api_keys (id, name, hash) VALUES ($1, $2, $3) RETURNING id, name, disabled, created_at
