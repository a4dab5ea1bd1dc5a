-- The summary that reaches furthest along the path of $1 ($2: only its own messages); of several, the
-- newest.
WITH
-- include: segments
SELECT message.id, message.sequence
FROM (SELECT * FROM segment WHERE is_own OR NOT $2::boolean ORDER BY place DESC) AS part
CROSS JOIN LATERAL (
    SELECT id, sequence
    FROM messages
    WHERE
        until_conversation_id = part.id
        AND channel = 'SUMMARY'
        AND sequence >= part.first
        AND sequence < part.until
    ORDER BY sequence DESC, created_at DESC, id
    LIMIT 1
) AS message
LIMIT 1
