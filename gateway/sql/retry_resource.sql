-- The result of reading a failed file again, with its current name and type.
UPDATE resources
SET title = $2, filename = $3, content_type = $4, chunk_count = $5, error = $6
WHERE session = $1
