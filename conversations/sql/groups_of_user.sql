SELECT group_id FROM memberships WHERE user_id = $1
