-- Append to a recording in progress of the agent $2, if it ends at $3 (NULL: anywhere). Returns no row
-- if that is not possible.
WITH recording AS MATERIALIZED (
    SELECT * FROM recordings
    WHERE
        id = $1
        AND agent_id = $2
        AND status = 'in_progress'
        AND ($3::integer IS NULL OR length = $3)
        AND length + char_length($4::text) <= $5
    FOR UPDATE
),
added AS (
    INSERT INTO recorded (recording_id, first, content)
    SELECT id, length, $4 FROM recording WHERE $4 <> ''
)
UPDATE recordings AS stored
SET length = recording.length + char_length($4), updated_at = clock_timestamp()
FROM recording
WHERE stored.id = recording.id
RETURNING
    stored.id, stored.conversation_id, stored.group_id, stored.agent_id, stored.user_id,
    stored.message_id, stored.store, stored.status, stored.length,
    stored.cancel_requested, stored.ending, stored.created_at, stored.updated_at
