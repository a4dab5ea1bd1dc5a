SELECT
-- include: resource_columns
WHERE
    resource.owner = $1 AND resource.app_id = $2 AND resource.project_id = $3
    AND resource.resource_id = $4
