-- Like search_words, but among the messages that the plugin does not have yet; $10: only those that are
-- not in the table of words yet either. At most 5,000 are searched; if there may be more, the last row
-- has no id.
WITH asked AS MATERIALIZED (
    SELECT
        memory_conversations.search_terms($2) AS terms,
        btrim(memory_conversations.folded($2)) AS literal
),
waiting AS MATERIALIZED (
    SELECT
        message.*,
        memory_conversations.group_mark(message.group_id) AS mark,
        coalesce(
            words.keys,
            memory_conversations.search_keys(message.group_id, message.content, message.is_list)
        ) AS keys
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
scored AS MATERIALIZED (
    SELECT
        waiting.id,
        (
            SELECT count(*)
            FROM unnest(asked.terms) AS term
            WHERE waiting.keys @@ replace(term, '@', waiting.mark)::tsquery
        )::double precision / greatest(cardinality(asked.terms), 1) AS score,
        cardinality(asked.terms) < 2
            AND asked.literal <> ''
            AND strpos(
                memory_conversations.folded(
                    memory_conversations.message_text(waiting.content, waiting.is_list)
                ),
                asked.literal
            ) > 0 AS holds
    FROM waiting
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
FROM waiting
HAVING count(*) = 5000
