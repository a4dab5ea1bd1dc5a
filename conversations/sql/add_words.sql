-- Add the words of messages that have none yet, oldest first, at most $1, and little more than $2 bytes.
-- With the lines marked of-user: only in the groups of the user $3, and up to the outbox row $4.
--
-- Whoever locks rows of the outbox does so in the order of their ids, and before messages: two that do
-- this, and a deletion, never wait for each other.
--
-- The outbox is usually empty, so PostgreSQL expects it to be, even when thousands of rows are waiting.
-- Each row is therefore looked up by its id, so that no plan reads the whole outbox for every row.
-- Without of-user, the only condition is the one of the index: with another one, which PostgreSQL
-- expects few rows to meet, it might read and sort all rows instead of the first ones in the index.
WITH waiting AS MATERIALIZED (
    SELECT id, message_id
    FROM outbox
    WHERE
        NOT has_words
        AND group_id IN (SELECT group_id FROM memberships WHERE user_id = $3) -- of-user
        AND id <= $4::bigint -- of-user
    ORDER BY id
    LIMIT $1
    FOR NO KEY UPDATE
),
found AS MATERIALIZED (
    SELECT waiting.id AS place, message.id, message.group_id, message.content, message.is_list
    FROM waiting
    CROSS JOIN LATERAL (
        SELECT * FROM messages WHERE messages.id = waiting.message_id FOR KEY SHARE
    ) AS message
),
-- Long texts take long: those of one statement must not take longer than a statement may.
sized AS MATERIALIZED (
    SELECT
        found.*,
        sum(octet_length(content)) OVER (ORDER BY place) - octet_length(content) AS size_before
    FROM found
),
added AS (
    INSERT INTO words (message_id, group_id, keys)
    SELECT id, group_id, memory_conversations.search_keys(group_id, content, is_list)
    FROM sized
    WHERE size_before < $2::bigint
    ON CONFLICT (message_id) DO NOTHING
)
UPDATE outbox SET has_words = true
WHERE id = ANY(ARRAY(
    SELECT id FROM waiting
    WHERE id NOT IN (SELECT place FROM sized WHERE size_before >= $2::bigint)
))
