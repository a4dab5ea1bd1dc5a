-- The plugin did not take them: try again, at first soon.
UPDATE batches
SET
    attempts = attempts + 1,
    try_at = now() + CASE WHEN attempts < 200 THEN interval '2 seconds' ELSE interval '1 minute' END
WHERE session = $1
