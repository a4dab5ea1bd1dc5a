-- The user of the key $7, and what the gateway knows of the memories $8 that the plugin has found; those
-- that were deleted are left out. Nothing for another key, and one row without a memory where none is left.
--
-- $9 are the namespaces that were searched without asking first: whether the scope of find_scope still is
-- those and no others. Where it is null, nobody needs to know.
SELECT
    users.id AS owner,
    $9::text[] IS NULL OR (
        SELECT count(*) = cardinality($9) AND coalesce(bool_and(namespace = ANY($9)), true)
        FROM (
            SELECT namespace FROM sessions
            WHERE
                owner = users.id AND app_id = $2 AND project_id = $3 AND name = $4
                AND is_stored AND NOT $6
            UNION ALL
            SELECT namespace FROM sessions
            WHERE
                owner = users.id AND app_id = $2 AND project_id = $3 AND is_resource
                AND is_stored AND $5 AND NOT $6
            UNION ALL
            SELECT namespace FROM sessions
            WHERE owner = users.id AND app_id = $2 AND project_id = $3 AND is_stored AND $6
        ) AS now
    ) AS is_current,
    memory.*
FROM users
LEFT JOIN LATERAL (
    SELECT
        memories.id::text, memories.type, memories.created_at, memories.edited_at, memories.extra,
        sessions.name, sessions.is_resource
    FROM memories
    JOIN sessions ON sessions.id = memories.session AND sessions.owner = users.id
    WHERE memories.id = ANY($8::uuid[]) AND memories.deleted_at IS NULL
) AS memory ON true
WHERE users.user_id = $1 AND users.key_sha256 = $7 AND users.deleted_at IS NULL
