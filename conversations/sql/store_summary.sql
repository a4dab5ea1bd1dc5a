-- A summary has the number of the last message it covers.
INSERT INTO messages (
    id, conversation_id, group_id, sequence, role, channel, visibility, content, is_list,
    agent_id, user_id, until_conversation_id, until_message_id, created_at
)
VALUES ($1, $2, $3, $4, 'agent', 'SUMMARY', 'agent', $5, true, $6, $7, $8, $9, clock_timestamp())
RETURNING created_at
