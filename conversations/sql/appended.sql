placed AS MATERIALIZED (
    SELECT
        written.*,
        locked.group_id,
        locked.next_sequence + written.further AS sequence,
        locked.at AS created_at
    FROM unnest(
        $12::uuid[], $13::uuid[], $14::integer[], $15::text[], $16::text[], $17::text[],
        $18::text[], $19::boolean[], $20::text[], $21::text[], $22::text[], $23::uuid[],
        $24::integer[]
    ) WITH ORDINALITY AS written (
        id, conversation_id, further, role, channel, visibility,
        content, is_list, metadata, user_id, agent_id, parent_message_id,
        memory_epoch, place
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
