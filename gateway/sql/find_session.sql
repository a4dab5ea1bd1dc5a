-- The user, and the session of that name if there is one.
SELECT
    users.id, users.user_id, users.key_sha256, users.created_at,
    (
        SELECT id FROM sessions
        WHERE owner = users.id AND app_id = $2 AND project_id = $3 AND name = $4
    ) AS session
FROM users
WHERE users.user_id = $1 AND users.deleted_at IS NULL
