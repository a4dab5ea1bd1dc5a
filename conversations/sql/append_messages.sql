-- Messages ($12 on) for the ends of conversations ($1 on: how many, and what changes there). A
-- conversation is left out when not all of its askers have the level $11; they are a range of $10.
-- The answer is where the messages of each one begin.
--
-- The conversations come in the order of their ids, so that two workers never wait for each other.
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
        FOR NO KEY UPDATE
    ) AS conversation
),
-- include: appended
