-- Like search_words, but among the messages that the plugin does not have yet; $10: only those that are
-- not in the table of words yet either. At most 5,000 are searched, and none if their texts are so long
-- that it would take too much time; if there may be more, the last row has no id.
WITH asked AS MATERIALIZED (
    SELECT
        memory_conversations.search_terms($2) AS terms,
        btrim(memory_conversations.folded($2)) AS literal
),
waiting AS MATERIALIZED (
    SELECT
        message.*,
        memory_conversations.group_mark(message.group_id) AS mark,
        words.keys
    FROM memberships AS membership
    JOIN outbox ON outbox.group_id = membership.group_id AND outbox.action = 'write'
    JOIN messages AS message ON message.id = outbox.message_id
    LEFT JOIN words ON words.message_id = message.id
    WHERE
        -- The outbox is usually empty; this notices it at once, however many groups there are.
        EXISTS (SELECT FROM outbox)
        AND membership.user_id = $1
        AND ($3::uuid[] IS NULL OR membership.group_id = ANY($3))
        AND NOT (outbox.has_words AND $10::boolean)
        AND
-- include: allowed
    ORDER BY outbox.id DESC
    LIMIT 5000
),
size AS MATERIALIZED (
    SELECT
        count(*) = 5000 AS is_cut,
        coalesce(
            sum(octet_length(content)) > 16777216
            OR sum(octet_length(content)) FILTER (WHERE keys IS NULL) > 1048576,
            false
        ) AS is_long
    FROM waiting
),
keyed AS MATERIALIZED (
    SELECT
        waiting.id, waiting.content, waiting.is_list, waiting.mark,
        coalesce(
            waiting.keys,
            memory_conversations.search_keys(waiting.group_id, waiting.content, waiting.is_list)
        ) AS keys
    FROM waiting
    WHERE NOT (SELECT is_long FROM size)
),
scored AS MATERIALIZED (
    SELECT
        keyed.id,
        (
            SELECT count(*)
            FROM unnest(asked.terms) AS term
            WHERE keyed.keys @@ replace(term, '@', keyed.mark)::tsquery
        )::double precision / greatest(cardinality(asked.terms), 1) AS score,
        cardinality(asked.terms) < 2
            AND asked.literal <> ''
            AND strpos(
                memory_conversations.folded(
                    memory_conversations.message_text(keyed.content, keyed.is_list)
                ),
                asked.literal
            ) > 0 AS holds
    FROM keyed
    CROSS JOIN asked
)
(SELECT
    message.id, message.conversation_id, message.sequence, message.role, message.channel,
    message.visibility, message.content, message.is_list, message.metadata, message.user_id,
    message.agent_id,
-- include: parent_for_users
    message.memory_epoch, message.created_at,
    memory_conversations.message_text(message.content, message.is_list) AS text,
    greatest(scored.score, 0.1) AS score
FROM scored
JOIN messages AS message ON message.id = scored.id
WHERE scored.score >= 0.49 OR scored.holds
ORDER BY greatest(scored.score, 0.1) DESC, message.created_at DESC, message.id
LIMIT $9)
UNION ALL
SELECT
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0
FROM size
WHERE is_cut OR is_long
