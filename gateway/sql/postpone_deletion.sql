UPDATE deletions
SET
    attempts = attempts + 1,
    try_at = now() + CASE WHEN attempts < 30 THEN interval '2 seconds' ELSE interval '5 seconds' END
WHERE id = $1
