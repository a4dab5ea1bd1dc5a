-- What the gateway knows about the memories $2 that the plugin found for the users $1, without those that were
-- deleted; one row without a memory for a user who has none of them.
--
-- scope_version shows whether the remembered namespaces that were searched are still up to date.
WITH memory AS MATERIALIZED (
    SELECT
        memories.id::text, memories.type, memories.created_at, memories.edited_at, memories.extra::text,
        sessions.name, sessions.is_resource, sessions.owner
    FROM memories
    JOIN sessions ON sessions.id = memories.session
    WHERE memories.id = ANY($2::uuid[]) AND memories.deleted_at IS NULL
)
SELECT users.user_id, users.key_sha256, users.scope_version, memory.*
FROM users
LEFT JOIN memory ON memory.owner = users.id
WHERE users.user_id = ANY($1::text[]) AND users.deleted_at IS NULL
