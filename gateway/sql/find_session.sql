SELECT id
FROM sessions
WHERE owner = $1 AND app_id = $2 AND project_id = $3 AND name = $4
