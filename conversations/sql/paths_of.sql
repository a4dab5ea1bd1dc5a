-- The paths, as segments, of the conversations among $1 that the user $2 can see.
SELECT DISTINCT conversation.group_id, part.id, part.first, part.until
FROM conversations AS conversation
JOIN memberships AS membership
    ON membership.group_id = conversation.group_id AND membership.user_id = $2
CROSS JOIN LATERAL unnest(
    conversation.ancestor_ids || conversation.id,
    conversation.ancestor_from || conversation.first_sequence,
    conversation.ancestor_to || 2147483647
) AS part (id, first, until)
WHERE conversation.id = ANY($1::uuid[])
