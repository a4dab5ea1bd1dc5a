UPDATE recordings AS recording
SET status = $2, ending = $3, message_id = $4, length = $5, updated_at = clock_timestamp()
WHERE recording.id = $1
RETURNING
    recording.id, recording.conversation_id, recording.group_id, recording.agent_id, recording.user_id,
    recording.message_id, recording.store, recording.status, recording.length,
    recording.cancel_requested, recording.ending, recording.created_at, recording.updated_at
