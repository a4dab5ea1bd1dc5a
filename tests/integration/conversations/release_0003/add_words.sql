-- The words of messages that have none yet, the oldest first, $1 at most; of the groups of the
-- user $2, or of all. The lock makes a deletion wait, or be waited for.
WITH waiting AS (
    SELECT id, message_id
    FROM outbox
    WHERE NOT has_words AND action = 'write' AND (
            $2::text IS NULL
            OR group_id IN (SELECT group_id FROM memberships WHERE user_id = $2)
        )
    ORDER BY id
    LIMIT $1
),
found AS MATERIALIZED (
    SELECT message.id, message.group_id, message.content, message.is_list
    FROM messages AS message
    WHERE message.id IN (SELECT message_id FROM waiting)
    FOR KEY SHARE
),
added AS (
    INSERT INTO words (message_id, group_id, keys)
    SELECT id, group_id, memory_conversations.search_keys(group_id, content, is_list)
    FROM found
    ON CONFLICT (message_id) DO NOTHING
)
UPDATE outbox SET has_words = true WHERE id IN (SELECT id FROM waiting)
