INSERT INTO users (user_id, key_sha256)
VALUES ($1, $2)
ON CONFLICT (user_id) DO NOTHING
RETURNING created_at
