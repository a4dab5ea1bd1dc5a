-- A memory got a new key and with it a new id: its use goes along.
UPDATE memories AS moved
SET access_count = old.access_count, last_accessed_at = old.last_accessed_at
FROM memories AS old
WHERE moved.id = $2 AND old.id = $1
