-- As append_messages, but a conversation that somebody else has locked is left out, too: its
-- messages must not keep those of the others waiting.
-- include: asked_places
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
            AND
-- include: may_append
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS conversation
),
-- include: appended
