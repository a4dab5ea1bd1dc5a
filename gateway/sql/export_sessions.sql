SELECT
    id, app_id, project_id, name, namespace, is_resource, is_stored, created_at
FROM sessions
WHERE owner = $1 AND id > $2
ORDER BY id
LIMIT 200
