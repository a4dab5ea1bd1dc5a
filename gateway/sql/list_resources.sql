-- Newest first; $4 and $5 are the end of the previous page.
SELECT
-- include: resource_columns
WHERE
    resource.owner = $1 AND resource.app_id = $2 AND resource.project_id = $3
    AND ($4::timestamptz IS NULL OR (resource.created_at, resource.session) < ($4, $5::bigint))
ORDER BY resource.created_at DESC, resource.session DESC
LIMIT $6
