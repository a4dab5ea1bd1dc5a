placed AS MATERIALIZED (
    SELECT
        written.*,
        locked.group_id,
        written.channel = 'HISTORY' AND written.visibility = 'user' AS is_visible,
        (locked.next_sequence - 1 + row_number() OVER (
            PARTITION BY written.conversation_id ORDER BY written.place
        ))::integer AS sequence,
        greatest((SELECT clock_timestamp()), locked.last_at) AS created_at
    FROM written
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
    WHERE is_visible
    ORDER BY place
),
counted AS (
    SELECT
        conversation_id,
        max(sequence) + 1 AS next_sequence,
        max(created_at) AS last_at,
        bool_or(is_visible) AS is_visible,
        (array_agg(preview ORDER BY sequence DESC) FILTER (WHERE is_visible))[1] AS preview,
        (array_agg(title ORDER BY sequence) FILTER (WHERE title IS NOT NULL))[1] AS title,
        (array_agg(title_folded ORDER BY sequence) FILTER (WHERE title IS NOT NULL))[1]
            AS title_folded,
        bool_or(is_visible AND role = 'user') AS has_user_message
    FROM placed
    GROUP BY conversation_id
),
moved AS (
    UPDATE conversations AS stored
    SET
        next_sequence = counted.next_sequence,
        last_at = counted.last_at,
        updated_at = CASE
            WHEN counted.is_visible THEN greatest(counted.last_at, stored.updated_at)
            ELSE stored.updated_at
        END,
        last_preview = CASE
            WHEN counted.is_visible THEN counted.preview ELSE stored.last_preview
        END,
        has_user_message = stored.has_user_message OR counted.has_user_message,
        title = CASE
            WHEN stored.title IS NULL AND NOT stored.has_user_message THEN counted.title
            ELSE stored.title
        END,
        title_folded = CASE
            WHEN stored.title IS NULL AND NOT stored.has_user_message
                THEN coalesce(counted.title_folded, '')
            ELSE stored.title_folded
        END
    FROM counted
    WHERE stored.id = counted.conversation_id
)
SELECT id, sequence, created_at FROM placed
