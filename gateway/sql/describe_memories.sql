-- The user of the key $2, and what the gateway knows of the memories $3 that the plugin has found; those
-- that were deleted are left out. Nothing for another key, and one row without a memory where none is left.
--
-- scope_version tells whether namespaces that were searched without asking first still are all.
SELECT
    users.id AS owner, users.scope_version, memory.*
FROM users
LEFT JOIN LATERAL (
    SELECT
        memories.id::text, memories.type, memories.created_at, memories.edited_at,
        memories.extra::text, sessions.name, sessions.is_resource
    FROM memories
    JOIN sessions ON sessions.id = memories.session AND sessions.owner = users.id
    WHERE memories.id = ANY($3::uuid[]) AND memories.deleted_at IS NULL
) AS memory ON true
WHERE users.user_id = $1 AND users.key_sha256 = $2 AND users.deleted_at IS NULL
