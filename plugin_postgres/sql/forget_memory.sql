-- Delete a live memory if the requesting namespace owns it; return who owns it.
WITH found AS (
    SELECT stored.id, stored.namespace
    FROM memory_plugin.memory_records AS stored
    JOIN memory_plugin.memory_namespaces AS home ON home.name = stored.namespace
    WHERE
        stored.id = $1
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
        AND (home.expires_at IS NULL OR home.expires_at > now())
),
gone AS (
    DELETE FROM memory_plugin.memory_records AS stored
    USING found
    WHERE stored.id = found.id AND found.namespace = $2
    RETURNING stored.id
)
SELECT (SELECT namespace FROM found) AS owner, EXISTS (SELECT FROM gone) AS deleted
