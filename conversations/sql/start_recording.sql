INSERT INTO recordings AS recording (id, conversation_id, group_id, agent_id, user_id, message_id, store)
VALUES ($1, $2, $3, $4, $5, $6, $7)
RETURNING
    recording.id, recording.conversation_id, recording.group_id, recording.agent_id, recording.user_id,
    recording.message_id, recording.store, recording.status, recording.length,
    recording.cancel_requested, recording.ending, recording.created_at, recording.updated_at
