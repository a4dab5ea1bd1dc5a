-- Checked again while the recording is locked: NULL if it still has time.
SELECT CASE
    WHEN cancel_after < clock_timestamp() THEN 'cancelled'
    WHEN updated_at < clock_timestamp() - $2::interval THEN 'aborted'
END
FROM recordings
WHERE id = $1 AND status = 'in_progress'
