-- The text is NULL once the plugin has it. Memories whose messages are still stored are left out,
-- because the export contains the messages.
SELECT memory.id, memory.type, memory.created_at, memory.edited_at, memory.extra::text, memory.text
FROM memories AS memory
WHERE
    memory.session = $1
    AND memory.deleted_at IS NULL
    AND (
        memory.text IS NULL
        OR NOT EXISTS (
            SELECT FROM messages
            WHERE
                messages.session = $1
                AND messages.batch = memory.batch
                AND messages.content IS NOT NULL
        )
    )
ORDER BY memory.created_at, memory.batch, memory.position
