-- What users see of the path of $1 ($2: only its own messages) between the numbers $3 and $4, both
-- excluded, at most $5. Newest first; without the lines marked backward, oldest first. Segments are read
-- one after the other in path order, no further than needed, so the rows need no sorting.
WITH
-- include: segments
SELECT
    message.id, message.conversation_id, message.sequence, message.role, message.channel,
    message.visibility, message.content, message.is_list, message.metadata, message.user_id,
    message.agent_id,
-- include: parent_for_users
    message.memory_epoch, message.created_at
FROM (
    SELECT * FROM segment
    WHERE (is_own OR NOT $2::boolean) AND until > $3::integer + 1 AND first < $4::integer
    ORDER BY place
        DESC -- backward
) AS part
CROSS JOIN LATERAL (
    SELECT *
    FROM messages
    WHERE
        conversation_id = part.id
        AND channel = 'HISTORY'
        AND visibility = 'user'
        AND sequence >= greatest(part.first, $3::integer + 1)
        AND sequence < least(part.until, $4::integer)
    ORDER BY sequence
        DESC -- backward
    LIMIT $5
) AS message
LIMIT $5
