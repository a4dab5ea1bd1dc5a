INSERT INTO memberships (group_id, user_id, level)
VALUES ($1, $2, 4)
ON CONFLICT (group_id, user_id) DO UPDATE SET level = 4
