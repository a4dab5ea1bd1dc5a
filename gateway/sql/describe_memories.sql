-- What the gateway knows about the memories $3 that the plugin found, without those that were deleted.
-- No row for a wrong key $2; one row without a memory if none is left.
--
-- scope_version shows whether the remembered namespaces that were searched are still up to date.
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
