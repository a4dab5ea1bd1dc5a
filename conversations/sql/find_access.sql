-- The group of each conversation $1, and the level of the user $2 in it: NULL without a user or a
-- membership. Conversations that do not exist are left out.
SELECT asked.place, conversation.group_id, membership.level
FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS asked (id, user_id, place)
JOIN conversations AS conversation ON conversation.id = asked.id
LEFT JOIN memberships AS membership
    ON membership.group_id = conversation.group_id AND membership.user_id = asked.user_id
