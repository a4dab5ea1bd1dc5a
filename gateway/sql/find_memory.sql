SELECT
    memory.id, memory.session, memory.type, memory.created_at, memory.edited_at, memory.extra::text,
    users.user_id, session.app_id, session.project_id, session.name, session.namespace,
    session.is_stored
FROM memories AS memory
JOIN sessions AS session ON session.id = memory.session
JOIN users ON users.id = session.owner AND users.deleted_at IS NULL
WHERE memory.id = $2 AND session.owner = $1 AND memory.deleted_at IS NULL
