-- Recordings that end without their agent: nothing came for $1, or it was asked to stop in vain.
SELECT id, conversation_id
FROM recordings
WHERE
    status = 'in_progress'
    AND (updated_at < clock_timestamp() - $1::interval OR cancel_after < clock_timestamp())
LIMIT 100
