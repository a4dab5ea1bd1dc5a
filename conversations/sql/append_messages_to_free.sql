-- As append_messages, but a conversation that somebody else has locked is left out: its messages
-- must not keep those of the others waiting.
-- include: written
locked AS MATERIALIZED (
    SELECT id, group_id, next_sequence, last_at
    FROM conversations
    WHERE id = ANY($2::uuid[])
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
),
-- include: appended
