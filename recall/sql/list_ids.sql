-- The memories that recall knows of; $1 owners; $2 type; $3 session.
SELECT id
FROM memories
WHERE
    owner = ANY($1::text[])
    AND ($2::text IS NULL OR type = $2)
    AND ($3::text IS NULL OR session_id = $3)
