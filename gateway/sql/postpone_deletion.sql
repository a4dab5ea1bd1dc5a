UPDATE deletions
SET
    attempts = attempts + 1,
    try_at = now() + CASE WHEN attempts < 200 THEN interval '2 seconds' ELSE interval '1 minute' END
WHERE id = $1
