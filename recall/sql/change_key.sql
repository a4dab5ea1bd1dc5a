UPDATE api_keys SET name = coalesce($2, name), disabled = coalesce($3, disabled)
WHERE id = $1
RETURNING id, name, disabled, created_at
