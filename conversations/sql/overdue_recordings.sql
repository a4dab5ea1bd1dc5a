-- Recordings to end without their agent: nothing arrived for $1, or a cancellation was ignored.
SELECT id, conversation_id
FROM recordings
WHERE
    status = 'in_progress'
    AND (updated_at < clock_timestamp() - $1::interval OR cancel_after < clock_timestamp())
LIMIT 100
