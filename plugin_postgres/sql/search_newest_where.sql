-- As search_newest, with a filter on fields. Where the newest 2,000 hold enough that match, these are
-- read in their order; else the index of words has all that match, and they are few.
WITH home AS MATERIALIZED (
    SELECT name, pin
    FROM memory_plugin.memory_namespaces
    CROSS JOIN (VALUES (true), (false)) AS pinned (pin)
    WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > now())
),
recent AS MATERIALIZED (
    SELECT home.name, memory.id, memory.pin, memory.created_at
    FROM home
    CROSS JOIN LATERAL (
        SELECT stored.id, stored.pin, stored.created_at
        FROM (
            SELECT *
            FROM memory_plugin.memory_records AS newest
            WHERE
                newest.namespace = home.name
                AND newest.pin = home.pin
                AND newest.created_at >= coalesce($5::timestamptz, '-infinity')
                AND newest.created_at < coalesce($6::timestamptz, 'infinity')
            ORDER BY newest.created_at DESC, newest.id
            LIMIT 2000
        ) AS stored
        WHERE
            (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
        LIMIT $3
    ) AS memory
),
short AS MATERIALIZED (
    SELECT
        home.name, home.pin,
        memory_plugin.search_in(
            substr(memory_plugin.search_filter($2, $4), 4) || CASE WHEN home.pin THEN ' & ''@.pin''' ELSE '' END,
            ARRAY[memory_plugin.search_mark(home.name)]
        ) AS keys
    FROM home
    LEFT JOIN recent ON recent.name = home.name AND recent.pin = home.pin
    GROUP BY home.name, home.pin
    HAVING count(recent.id) < $3
),
best AS (
    SELECT id
    FROM (
        SELECT id, pin, created_at FROM recent
        UNION
        SELECT memory.id, memory.pin, memory.created_at
        FROM short
        CROSS JOIN LATERAL (
            SELECT stored.id, stored.pin, stored.created_at
            FROM memory_plugin.memory_records AS stored
            WHERE
                memory_plugin.search_keys(
                    stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
                ) @@ short.keys
                -- IS TRUE hides these from the indexes that would be read besides, one of them as a whole.
                AND (stored.namespace = short.name) IS TRUE
                AND (stored.pin = short.pin) IS TRUE
                AND (stored.created_at >= coalesce($5, '-infinity')) IS TRUE
                AND (stored.created_at < coalesce($6, 'infinity')) IS TRUE
                AND (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
            ORDER BY stored.created_at DESC, stored.id
            LIMIT $3
        ) AS memory
    ) AS found
    ORDER BY pin DESC, created_at DESC, id
    LIMIT $3
)
SELECT
    stored.id, stored.namespace, stored.content, stored.kind, stored.source, stored.created_at,
    stored.expires_at, stored.propagation, stored.pin
FROM best
JOIN memory_plugin.memory_records AS stored USING (id)
ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
