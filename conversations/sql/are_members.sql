-- For each group and user, whether the user is a member.
SELECT EXISTS (
    SELECT FROM memberships AS membership
    WHERE membership.group_id = asked.group_id AND membership.user_id = asked.user_id
) AS is_member
FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS asked (group_id, user_id, place)
ORDER BY asked.place
