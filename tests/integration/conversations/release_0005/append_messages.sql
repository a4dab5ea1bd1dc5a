-- Messages ($2) for the ends of conversations ($1: how many, and what changes there). A conversation
-- is left out when not all of its askers have the level $3. $4 is how many conversations there are. The
-- answer is where the messages of each one begin.
--
-- A conversation that somebody else has locked is left out, too: its messages must not keep those of
-- the others waiting. Without what is marked only-free it is waited for.
--
-- The conversations come in the order of their ids, so that two workers never wait for each other.
WITH asked AS (
    SELECT *
    FROM unnest($1::appended_place[]) AS place
    -- All of them. Without a limit PostgreSQL prepares for a hundred and may read a whole table; with
    -- one that it knows beforehand, it may plan every append anew.
    LIMIT (SELECT $4::integer)
),
locked AS MATERIALIZED (
    SELECT
        place.*, conversation.group_id, conversation.next_sequence,
        greatest(clock_timestamp(), conversation.last_at) AS at
    FROM asked AS place
    CROSS JOIN LATERAL (
        -- One by one: small tables with many dead rows must not be read as a whole.
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
                    AND membership.level >= $3::smallint
            ) = cardinality(place.askers)
        FOR NO KEY UPDATE
        SKIP LOCKED -- only-free
    ) AS conversation
),
placed AS MATERIALIZED (
    SELECT
        written.*,
        locked.group_id,
        locked.next_sequence + written.further AS sequence,
        locked.at AS created_at
    FROM unnest($2::appended_message[]) WITH ORDINALITY AS written (
        id, conversation_id, further, role, channel, visibility, content, is_list, metadata,
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
