-- The plugin did not accept them: retry. However long it was down, they must be written within 10
-- seconds of its return.
UPDATE batches
SET
    attempts = attempts + 1,
    try_at = now() + CASE WHEN attempts < 30 THEN interval '2 seconds' ELSE interval '5 seconds' END
WHERE session = $1
