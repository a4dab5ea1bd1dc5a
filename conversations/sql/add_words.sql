-- The words of messages that have none yet, the oldest first, $1 at most; of the groups of the
-- user $2 and up to the row $3 of the outbox, or without what is marked of-user, of all. The lock makes
-- a deletion wait, or be waited for.
--
-- The outbox is mostly empty, so PostgreSQL expects it to be, also when thousands wait. Each row is
-- therefore asked for by its id, which leaves no way to read the outbox as a whole for every one. Of all
-- there is no other condition than the index has: with one that PostgreSQL expects few rows to meet, it
-- may read and sort all that wait instead of the first in the index.
WITH waiting AS MATERIALIZED (
    SELECT id, message_id
    FROM outbox
    WHERE
        NOT has_words
        AND group_id IN (SELECT group_id FROM memberships WHERE user_id = $2) -- of-user
        AND id <= $3::bigint -- of-user
    ORDER BY id
    LIMIT $1
),
found AS MATERIALIZED (
    SELECT message.id, message.group_id, message.content, message.is_list
    FROM waiting
    CROSS JOIN LATERAL (
        SELECT * FROM messages WHERE messages.id = waiting.message_id FOR KEY SHARE
    ) AS message
),
added AS (
    INSERT INTO words (message_id, group_id, keys)
    SELECT id, group_id, memory_conversations.search_keys(group_id, content, is_list)
    FROM found
    ON CONFLICT (message_id) DO NOTHING
)
UPDATE outbox SET has_words = true WHERE id = ANY(ARRAY(SELECT id FROM waiting))
