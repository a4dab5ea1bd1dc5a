SELECT
    recording.id, recording.conversation_id, recording.group_id, recording.agent_id, recording.user_id,
    recording.message_id, recording.store, recording.status, recording.length,
    recording.cancel_requested, recording.ending, recording.created_at, recording.updated_at
FROM recordings AS recording
WHERE recording.id = $1
FOR UPDATE
