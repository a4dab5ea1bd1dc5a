INSERT INTO sessions (owner, app_id, project_id, name, is_resource, namespace)
VALUES ($1, $2, $3, $4, true, $5)
RETURNING id, created_at
