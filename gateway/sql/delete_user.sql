UPDATE users SET deleted_at = now(), key_sha256 = ''
WHERE id = $1 AND deleted_at IS NULL
RETURNING id
