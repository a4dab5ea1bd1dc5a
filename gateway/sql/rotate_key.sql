UPDATE users
SET key_sha256 = $2
WHERE user_id = $1 AND deleted_at IS NULL
RETURNING created_at
