INSERT INTO memberships AS stored (group_id, user_id, level)
VALUES ($1, $2, $3)
ON CONFLICT (group_id, user_id) DO UPDATE SET level = excluded.level
RETURNING user_id, level, created_at
