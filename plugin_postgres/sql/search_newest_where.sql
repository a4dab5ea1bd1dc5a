-- Like search_newest, with a filter on fields. If enough of the newest match, they are read in order; otherwise the
-- word index has all that match. The newest 200 show which is faster: if ten times as many would not contain enough,
-- the index is read, up to 1,000 entries. Otherwise, or if the index has more, the newest 2,000 are read, and only if
-- these do not contain enough, everything in the index.
WITH home AS MATERIALIZED (
    SELECT name, pin, 200 AS depth
    FROM memory_plugin.memory_namespaces
    CROSS JOIN (VALUES (true), (false)) AS pinned (pin)
    WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > now())
),
newest AS MATERIALIZED (
    SELECT home.name, home.pin, memory.*
    FROM home
-- include: search_newest_read
),
short AS MATERIALIZED (
    SELECT home.name, home.pin, 1000 AS most, 2000 AS depth, 10 * count(newest.id) < $3 AS are_rare
    FROM home
    LEFT JOIN newest ON newest.name = home.name AND newest.pin = home.pin
    GROUP BY home.name, home.pin, home.depth
    HAVING count(newest.id) < $3 AND (
        -- Reading the index costs no more than finding out whether there are others.
        NOT home.pin AND 10 * count(newest.id) < $3
        OR EXISTS (
            SELECT FROM memory_plugin.memory_records AS other
            WHERE
                other.namespace = home.name
                AND other.pin = home.pin
                AND other.created_at >= coalesce($5, '-infinity')
                AND other.created_at < coalesce($6, 'infinity')
            ORDER BY other.created_at DESC, other.id
            OFFSET home.depth
            LIMIT 1
        )
    )
),
rare AS MATERIALIZED (
    SELECT home.name, home.pin, memory.*
    FROM (SELECT * FROM short WHERE are_rare) AS home
-- include: search_newest_asked
),
common AS MATERIALIZED (
    SELECT name, pin, depth
    FROM short
    WHERE NOT are_rare OR (SELECT count(*) FROM rare WHERE rare.name = short.name AND rare.pin = short.pin) = most
),
recent AS MATERIALIZED (
    SELECT home.name, home.pin, memory.*
    FROM common AS home
-- include: search_newest_read
),
old AS (
    SELECT home.name, home.pin, memory.*
    FROM (
        SELECT common.name, common.pin, NULL::bigint AS most
        FROM common
        LEFT JOIN recent ON recent.name = common.name AND recent.pin = common.pin
        GROUP BY common.name, common.pin
        HAVING count(recent.id) < $3
    ) AS home
-- include: search_newest_asked
),
best AS (
    SELECT id
    FROM (
        SELECT id, pin, created_at FROM newest
        UNION
        SELECT id, pin, created_at FROM rare
        UNION
        SELECT id, pin, created_at FROM recent
        UNION
        SELECT id, pin, created_at FROM old
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
