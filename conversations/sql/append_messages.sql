-- Append messages ($1) to conversations. The first message of each conversation has their number, and
-- what changes about the conversation. $3 is the number of conversations. Returns where the messages of
-- each conversation begin.
--
-- A conversation is skipped if one of its askers does not have the level $2, or if it is locked, because
-- other conversations must not wait for it. Without the line marked only-free, locks are waited for.
--
-- The conversations are sorted by id, so that two workers never wait for each other.
WITH asked AS (
    SELECT
        place.conversation_id AS id, place.count, place.is_visible, place.has_user_message,
        place.preview, place.title, place.title_folded,
        string_to_array(place.askers, chr(31)) AS askers
    FROM unnest($1::appended[]) AS place
    WHERE place.count IS NOT NULL
    -- This returns all rows. Without a limit, PostgreSQL expects a hundred and may read a whole table;
    -- with a constant one, it may plan every append anew.
    LIMIT (SELECT $3::integer)
),
locked AS MATERIALIZED (
    SELECT
        place.*, conversation.group_id, conversation.next_sequence,
        greatest(clock_timestamp(), conversation.last_at) AS at
    FROM asked AS place
    CROSS JOIN LATERAL (
        -- One by one, so that a small table with many dead rows is not read as a whole.
        SELECT stored.group_id, stored.next_sequence, stored.last_at
        FROM conversations AS stored
        WHERE
            stored.id = place.id
            AND (
                SELECT count(*)
                FROM memberships AS membership
                WHERE
                    membership.group_id = stored.group_id
                    AND membership.user_id = ANY(place.askers)
                    AND membership.level >= $2::smallint
            ) = cardinality(place.askers)
        FOR NO KEY UPDATE
        SKIP LOCKED -- only-free
    ) AS conversation
),
placed AS MATERIALIZED (
    SELECT
        written.id, written.conversation_id, written.role, written.channel, written.visibility,
        written.content, written.is_list, written.metadata, written.user_id, written.agent_id,
        written.parent_message_id, written.memory_epoch, written.place,
        locked.group_id,
        locked.next_sequence + written.further AS sequence,
        locked.at AS created_at
    FROM unnest($1::appended[]) WITH ORDINALITY AS written (
        conversation_id, further, count, is_visible, has_user_message, preview, title,
        title_folded, askers, id, role, channel, visibility, content, is_list, metadata,
        user_id, agent_id, parent_message_id, memory_epoch, place
    )
    JOIN locked ON locked.id = written.conversation_id
),
stored AS (
    INSERT INTO messages (
        id, conversation_id, group_id, sequence, role, channel, visibility, content, is_list,
        metadata, user_id, agent_id, parent_message_id, memory_epoch, created_at
    )
    SELECT
        id, conversation_id, group_id, sequence, role, channel, visibility, content, is_list,
        metadata, user_id, agent_id, parent_message_id, memory_epoch, created_at
    FROM placed
),
queued AS (
    INSERT INTO outbox (action, group_id, message_id)
    SELECT 'write', group_id, id
    FROM placed
    WHERE channel = 'HISTORY' AND visibility = 'user'
    ORDER BY place
),
moved AS (
    UPDATE conversations AS stored
    SET
        next_sequence = locked.next_sequence + locked.count,
        last_at = locked.at,
        updated_at = CASE
            WHEN locked.is_visible THEN greatest(locked.at, stored.updated_at)
            ELSE stored.updated_at
        END,
        last_preview = CASE
            WHEN locked.is_visible THEN locked.preview ELSE stored.last_preview
        END,
        has_user_message = stored.has_user_message OR locked.has_user_message,
        title = CASE
            WHEN stored.title IS NULL AND NOT stored.has_user_message THEN locked.title
            ELSE stored.title
        END,
        title_folded = CASE
            WHEN stored.title IS NULL AND NOT stored.has_user_message
                THEN coalesce(locked.title_folded, '')
            ELSE stored.title_folded
        END
    FROM locked
    WHERE stored.id = locked.id
)
SELECT id, next_sequence, at FROM locked
