SELECT id, user_id, key_sha256, created_at
FROM users
WHERE user_id = ANY($1::text[]) AND deleted_at IS NULL
