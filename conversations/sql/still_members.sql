SELECT user_id FROM memberships WHERE group_id = $1 AND user_id = ANY($2::text[])
