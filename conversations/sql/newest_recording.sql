-- The newest recording of each of the conversations $1, except those that ended longer than $2 ago.
SELECT
    asked.place, recording.id, recording.conversation_id, recording.group_id, recording.agent_id,
    recording.user_id, recording.message_id, recording.store, recording.status, recording.length,
    recording.cancel_requested, recording.ending, recording.created_at, recording.updated_at
FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (conversation_id, place)
CROSS JOIN LATERAL (
    SELECT *
    FROM recordings AS one
    WHERE
        one.conversation_id = asked.conversation_id
        AND (one.status = 'in_progress' OR one.updated_at > clock_timestamp() - $2::interval)
    ORDER BY one.created_at DESC, one.id
    LIMIT 1
) AS recording
