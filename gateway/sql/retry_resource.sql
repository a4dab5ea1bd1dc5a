-- What came of another try with a file that could not be read.
UPDATE resources SET chunk_count = $2, error = $3 WHERE session = $1
