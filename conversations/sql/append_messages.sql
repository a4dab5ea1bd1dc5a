-- include: written
locked AS MATERIALIZED (
    -- In the order of their ids, so that two workers never wait for each other.
    SELECT id, group_id, next_sequence, last_at
    FROM conversations
    WHERE id = ANY($2::uuid[])
    ORDER BY id
    FOR NO KEY UPDATE
),
-- include: appended
