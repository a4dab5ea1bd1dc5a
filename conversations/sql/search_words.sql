-- Messages with the words of $2 that the user $1 may see, in the groups $3 (NULL: all), on the paths $4 to
-- $6 and before the position ($7, $8), best first, at most $9. Messages with every word come first; if
-- there are too few, those with any word; if there are none, recent ones that contain the query as
-- written. Every step is bounded.
WITH asked AS MATERIALIZED (
    SELECT
        memory_conversations.search_terms($2) AS terms,
        btrim(memory_conversations.folded($2)) AS literal
),
home AS MATERIALIZED (
    SELECT
        membership.group_id,
        memory_conversations.group_mark(membership.group_id) AS mark,
        greatest(2000 / count(*) OVER (), $9) AS bound
    FROM memberships AS membership
    WHERE
        membership.user_id = $1
        AND ($3::uuid[] IS NULL OR membership.group_id = ANY($3))
),
has_every AS MATERIALIZED (
    SELECT found.id, 1.0::double precision AS score
    FROM asked
    CROSS JOIN home
    CROSS JOIN LATERAL (
        SELECT message.id
        FROM words
        JOIN messages AS message ON message.id = words.message_id
        WHERE
            words.keys @@ replace(array_to_string(asked.terms, ' & '), '@', home.mark)::tsquery
            AND words.group_id = home.group_id
            AND
-- include: allowed
        LIMIT home.bound
    ) AS found
    WHERE asked.terms <> '{}'
    LIMIT 3000
),
has_any AS MATERIALIZED (
    SELECT found.id, found.keys, home.mark
    FROM asked
    CROSS JOIN home
    CROSS JOIN LATERAL (
        SELECT message.id, words.keys
        FROM words
        JOIN messages AS message ON message.id = words.message_id
        WHERE
            words.keys @@ replace(array_to_string(asked.terms, ' | '), '@', home.mark)::tsquery
            AND words.group_id = home.group_id
            AND
-- include: allowed
        LIMIT home.bound
    ) AS found
    WHERE cardinality(asked.terms) > 1 AND (SELECT count(*) FROM has_every) < $9
    LIMIT 1000
),
scored AS (
    SELECT id, score FROM has_every
    UNION
    SELECT
        has_any.id,
        0.99 * (
            SELECT count(*)
            FROM unnest(asked.terms) AS term
            WHERE has_any.keys @@ replace(term, '@', has_any.mark)::tsquery
        ) / cardinality(asked.terms)
    FROM has_any
    CROSS JOIN asked
    WHERE has_any.id NOT IN (SELECT id FROM has_every)
),
good AS MATERIALIZED (
    -- Half of the words are enough; fewer only if no message has that many.
    SELECT id, score FROM scored
    WHERE score >= 0.49 OR (SELECT max(score) FROM scored) < 0.49
),
holds AS (
    SELECT found.id, 0.1::double precision AS score
    FROM asked
    CROSS JOIN (
        SELECT conversation.id
        FROM home
        JOIN conversations AS conversation ON conversation.group_id = home.group_id
        ORDER BY conversation.updated_at DESC
        LIMIT 100
    ) AS recent
    CROSS JOIN LATERAL (
        SELECT message.id, message.content, message.is_list
        FROM messages AS message
        WHERE
            message.conversation_id = recent.id
            AND
-- include: allowed
        ORDER BY message.sequence DESC
        LIMIT 200
    ) AS found
    WHERE
        asked.literal <> ''
        AND NOT EXISTS (SELECT FROM good)
        AND strpos(
            memory_conversations.folded(memory_conversations.message_text(found.content, found.is_list)),
            asked.literal
        ) > 0
    LIMIT 1000
)
SELECT
    message.id, message.conversation_id, message.sequence, message.role, message.channel,
    message.visibility, message.content, message.is_list, message.metadata, message.user_id,
    message.agent_id,
-- include: parent_for_users
    message.memory_epoch, message.created_at,
    memory_conversations.message_text(message.content, message.is_list) AS text,
    best.score
FROM (SELECT * FROM good UNION ALL SELECT * FROM holds) AS best
JOIN messages AS message ON message.id = best.id
ORDER BY best.score DESC, message.created_at DESC, message.id
LIMIT $9
