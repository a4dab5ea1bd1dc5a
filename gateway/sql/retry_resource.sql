-- What came of another try with a file that could not be read, under the name and type it has now.
UPDATE resources
SET title = $2, filename = $3, content_type = $4, chunk_count = $5, error = $6
WHERE session = $1
