-- A fork is one new row. $1: its id; $2: the conversation whose path it takes; $3: the conversation that
-- stores the replaced message; $4: that message; $5: its number; $6: the message before it that users
-- see; $7 and $8: title and folded title (NULL: those of $2); $9: the fork's first message.
--
-- A reference to a conversation locks it, but not against appends. An append that then comes upon an
-- older version of the row waits for whoever is next in line, who waits for the append. So the lock of an
-- append is taken first, and that of the group before it, as everywhere.
WITH room AS MATERIALIZED (
    SELECT groups.id
    FROM groups
    WHERE groups.id = (SELECT group_id FROM conversations WHERE conversations.id = $2)
    FOR KEY SHARE
),
holder AS MATERIALIZED (
    SELECT locked.id
    FROM room
    CROSS JOIN LATERAL (
        SELECT stored.id
        FROM conversations AS stored
        WHERE stored.id = $3 AND stored.group_id = room.id
        FOR NO KEY UPDATE
    ) AS locked
)
INSERT INTO conversations AS conversation (
    id, group_id, owner_user_id, title, title_folded, title_by_user, metadata, metadata_folded,
    created_at, updated_at, last_at,
    forked_at_conversation_id, forked_at_message_id, forked_from_message_id,
    ancestor_ids, ancestor_from, ancestor_to, first_sequence, next_sequence, first_message_id
)
SELECT
    $1, parent.group_id, parent.owner_user_id,
    coalesce($7::text, parent.title),
    CASE WHEN $7::text IS NULL THEN parent.title_folded ELSE $8::text END,
    $7::text IS NULL AND parent.title_by_user,
    '{}', '',
    moment.at, moment.at, moment.at,
    holder.id, $6::uuid, $4,
    inherited.ids, inherited.firsts, inherited.untils, $5::integer, $5::integer, $9::uuid
FROM holder
CROSS JOIN conversations AS parent
CROSS JOIN LATERAL (
    SELECT
        coalesce(array_agg(part.id ORDER BY part.place), '{}') AS ids,
        coalesce(array_agg(part.first ORDER BY part.place), '{}') AS firsts,
        coalesce(array_agg(least(part.until, $5::integer) ORDER BY part.place), '{}') AS untils
    FROM unnest(
        parent.ancestor_ids || parent.id,
        parent.ancestor_from || parent.first_sequence,
        parent.ancestor_to || 2147483647
    ) WITH ORDINALITY AS part (id, first, until, place)
    WHERE part.first < $5::integer
) AS inherited
-- Not older than the message it replaces: times never decrease along a path.
CROSS JOIN LATERAL (
    SELECT greatest(clock_timestamp(), replaced.created_at) AS at
    FROM messages AS replaced
    WHERE replaced.id = $4
) AS moment
WHERE parent.id = $2
RETURNING
    conversation.id, conversation.title, conversation.owner_user_id, conversation.created_at,
    conversation.updated_at, conversation.last_preview, conversation.group_id, conversation.metadata,
    conversation.forked_at_conversation_id, conversation.forked_at_message_id
