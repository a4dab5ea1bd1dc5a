-- The result of reading a failed file again, with its current name and type.
WITH home AS MATERIALIZED (
    -- Before the resource, as in the deletion of a session, so that the two never deadlock.
    SELECT id FROM sessions WHERE id = $1 FOR NO KEY UPDATE
)
UPDATE resources
SET title = $2, filename = $3, content_type = $4, chunk_count = $5, error = $6
WHERE session = (SELECT id FROM home)
