-- Give up after about a day of retries.
WITH kept AS (
    UPDATE questions
    SET attempts = attempts + 1, try_at = now() + least(attempts + 1, 60) * interval '10 seconds'
    WHERE id = $1
)
DELETE FROM questions WHERE id = $1 AND attempts > 200
