SELECT user_id, level, created_at FROM memberships WHERE group_id = $1 AND user_id = $2
