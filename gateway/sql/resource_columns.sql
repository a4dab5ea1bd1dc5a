-- Part of other statements: a resource as the API returns it.
    resource.session, resource.resource_id, users.user_id, resource.sha256, resource.title,
    resource.filename, resource.content_type, resource.size, resource.chunk_count,
    resource.created_at, resource.error,
    EXISTS (SELECT FROM batches WHERE batches.session = resource.session) AS is_pending
FROM resources AS resource
JOIN users ON users.id = resource.owner
