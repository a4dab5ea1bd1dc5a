DELETE FROM recordings
WHERE id IN (
    SELECT id FROM recordings
    WHERE status <> 'in_progress' AND updated_at < clock_timestamp() - $1::interval
    LIMIT 100
    FOR UPDATE SKIP LOCKED
)
RETURNING id
