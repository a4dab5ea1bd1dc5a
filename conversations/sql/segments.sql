segment AS (
    SELECT part.id, part.first, part.until, part.place, part.id = conversation.id AS is_own
    FROM conversations AS conversation
    CROSS JOIN LATERAL unnest(
        conversation.ancestor_ids || conversation.id,
        conversation.ancestor_from || conversation.first_sequence,
        conversation.ancestor_to || 2147483647
    ) WITH ORDINALITY AS part (id, first, until, place)
    WHERE conversation.id = $1
)
