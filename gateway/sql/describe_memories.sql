-- What the gateway knows of memories that the plugin has found; those that were deleted are left out.
SELECT
    memory.id, memory.type, memory.created_at, memory.edited_at, memory.extra,
    session.name, session.is_resource
FROM memories AS memory
JOIN sessions AS session ON session.id = memory.session
JOIN users ON users.id = session.owner AND users.deleted_at IS NULL
WHERE memory.id = ANY($2::uuid[]) AND session.owner = $1 AND memory.deleted_at IS NULL
