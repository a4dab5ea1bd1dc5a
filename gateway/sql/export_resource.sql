SELECT
-- include: resource_columns
WHERE resource.session = $1
