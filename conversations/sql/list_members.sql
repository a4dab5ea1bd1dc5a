SELECT user_id, level, created_at
FROM memberships
WHERE group_id = $1
ORDER BY level = 4 DESC, created_at, user_id
