-- A second request does not give the agent more time.
UPDATE recordings
SET cancel_requested = true, cancel_after = coalesce(cancel_after, clock_timestamp() + $2::interval)
WHERE conversation_id = $1 AND status = 'in_progress'
RETURNING id
