INSERT INTO resources (
    session, owner, app_id, project_id, resource_id, sha256, title, filename, content_type, size,
    chunk_count, error
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
