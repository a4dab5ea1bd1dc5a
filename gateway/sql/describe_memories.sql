-- One row for each of the users $1, with their key, and one for each of the memories $2 that the plugin found, without
-- those that were deleted: what the gateway knows about it. owner shows which memory is whose.
--
-- scope_version shows whether the remembered namespaces that were searched are still up to date.
SELECT
    users.id AS owner, users.user_id, users.key_sha256, users.scope_version,
    NULL AS id, NULL AS type, NULL::timestamptz AS created_at, NULL::timestamptz AS edited_at, NULL AS extra,
    NULL AS name, NULL::boolean AS is_resource
FROM users
WHERE users.user_id = ANY($1::text[]) AND users.deleted_at IS NULL
UNION ALL
SELECT
    sessions.owner, NULL, NULL, NULL,
    memories.id::text, memories.type, memories.created_at, memories.edited_at, memories.extra::text,
    sessions.name, sessions.is_resource
FROM memories
JOIN sessions ON sessions.id = memories.session
WHERE memories.id = ANY($2::uuid[]) AND memories.deleted_at IS NULL
