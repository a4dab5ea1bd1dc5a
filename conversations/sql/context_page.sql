-- What an agent sees of the path of $1 ($2: only its own messages) after the number $3, at most $4:
-- HISTORY after the number $5, MEMORY of the agent $6 in the epoch $7, and the summary $8 if it is after
-- the number $9. Newest first; without the lines marked backward, oldest first. Segments are read one
-- after the other, no further than needed.
WITH
-- include: segments
,
part AS MATERIALIZED (
    SELECT * FROM segment
    WHERE (is_own OR NOT $2::boolean) AND until > $3::integer + 1
    ORDER BY place
        DESC -- backward
)
SELECT
    message.id, message.conversation_id, message.sequence, message.role, message.channel,
    message.visibility, message.content, message.is_list, message.metadata, message.user_id,
    message.agent_id, message.parent_message_id, message.memory_epoch, message.created_at
FROM (
    (
        SELECT found.*
        FROM part
        CROSS JOIN LATERAL (
            SELECT *
            FROM messages
            WHERE
                conversation_id = part.id
                AND channel = 'HISTORY'
                AND sequence >= greatest(part.first, $3::integer + 1, $5::integer + 1)
                AND sequence < part.until
            ORDER BY sequence
                DESC -- backward
            LIMIT $4
        ) AS found
        LIMIT $4
    )
    UNION ALL
    (
        SELECT found.*
        FROM part
        CROSS JOIN LATERAL (
            SELECT *
            FROM messages
            WHERE
                conversation_id = part.id
                AND channel = 'MEMORY'
                AND agent_id = $6
                AND memory_epoch = $7::integer
                AND sequence >= greatest(part.first, $3::integer + 1)
                AND sequence < part.until
            ORDER BY sequence
                DESC -- backward
            LIMIT $4
        ) AS found
        LIMIT $4
    )
    UNION ALL
    (
        SELECT *
        FROM messages
        WHERE id = $8::uuid AND channel = 'SUMMARY' AND sequence > $9::integer
    )
) AS message
ORDER BY
    message.sequence
    DESC -- backward
    , message.channel = 'SUMMARY'
    DESC -- backward
LIMIT $4
