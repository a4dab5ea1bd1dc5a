    -- Users do not learn that there is a parent which they do not see.
    CASE WHEN message.parent_message_id IS NOT NULL THEN (
        SELECT parent.id
        FROM messages AS parent
        WHERE
            parent.id = message.parent_message_id
            AND parent.channel = 'HISTORY'
            AND parent.visibility = 'user'
    ) END AS parent_message_id,
