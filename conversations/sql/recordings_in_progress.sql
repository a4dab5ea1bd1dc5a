-- The conversations among $1 with a response in progress that the user $2 may read.
SELECT recording.conversation_id
FROM recordings AS recording
JOIN memberships AS membership
    ON membership.group_id = recording.group_id AND membership.user_id = $2
WHERE recording.conversation_id = ANY($1::uuid[]) AND recording.status = 'in_progress'
