-- The newest recording of a conversation; one that ended longer than $2 ago is forgotten.
SELECT
    recording.id, recording.conversation_id, recording.group_id, recording.agent_id, recording.user_id,
    recording.message_id, recording.store, recording.status, recording.length,
    recording.cancel_requested, recording.ending, recording.created_at, recording.updated_at
FROM recordings AS recording
WHERE
    recording.conversation_id = $1
    AND (recording.status = 'in_progress' OR recording.updated_at > clock_timestamp() - $2::interval)
ORDER BY recording.created_at DESC, recording.id
LIMIT 1
