-- The user, and the namespaces to search: of the chat $4, of resources if $5, of everything if $6. With
-- a wrong key $7 there are none, so that it is refused as fast as an unknown user.
SELECT
    users.id, users.user_id, users.key_sha256, users.created_at, users.scope_version,
    ARRAY(
        SELECT namespace FROM sessions
        WHERE
            owner = users.id AND app_id = $2 AND project_id = $3 AND name = $4
            AND is_stored AND NOT $6 AND users.key_sha256 = $7
        UNION ALL
        SELECT namespace FROM sessions
        WHERE
            owner = users.id AND app_id = $2 AND project_id = $3 AND is_resource
            AND is_stored AND $5 AND NOT $6 AND users.key_sha256 = $7
        UNION ALL
        SELECT namespace FROM sessions
        WHERE
            owner = users.id AND app_id = $2 AND project_id = $3
            AND is_stored AND $6 AND users.key_sha256 = $7
    ) AS namespaces
FROM users
WHERE users.user_id = $1 AND users.deleted_at IS NULL
