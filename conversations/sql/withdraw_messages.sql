-- The messages of the conversations $2 of the group $1 are being deleted: cancel pending writes. Before
-- the messages are deleted: see add_words.
DELETE FROM outbox
WHERE id = ANY(ARRAY(
    SELECT waiting.id
    FROM outbox AS waiting
    JOIN messages AS message ON message.id = waiting.message_id
    WHERE
        waiting.group_id = $1
        AND waiting.action = 'write'
        AND message.conversation_id = ANY($2::uuid[])
    ORDER BY waiting.id
    FOR UPDATE OF waiting
))
