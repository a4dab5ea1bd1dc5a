-- Part of a statement: one page, newest first and then in id order, starting at created_at $7 and id $8. It only
-- contains what had been written when the first page was read: $9 is the last number at that time.
--
-- As in list_by_id, the word index helps if it covers the filter.
WITH home AS MATERIALIZED (
    SELECT
        name, pin,
        coalesce($5::timestamptz, '-infinity') AS first,
        coalesce($6::timestamptz, 'infinity') AS until,
        coalesce($7::timestamptz, 'infinity') AS latest,
        memory_plugin.search_in(
            nullif(substr(memory_plugin.search_filter($2::text[], $4::jsonb), 4), ''),
            ARRAY[memory_plugin.search_mark(name)]
        ) AS keys,
        CASE
            WHEN memory_plugin.search_filter($2, $4) <> '' THEN greatest(20 * $3, 2000)
        END AS bound
    FROM memory_plugin.memory_namespaces
    CROSS JOIN (VALUES (true), (false)) AS pinned (pin)
    WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > now())
),
next AS MATERIALIZED (
    SELECT home.name, memory.id, memory.pin, memory.created_at
    FROM home
    CROSS JOIN LATERAL (
        SELECT stored.id, stored.pin, stored.created_at
        FROM (
            (
                SELECT *
                FROM memory_plugin.memory_records AS as_old
                WHERE
                    as_old.namespace = home.name
                    AND as_old.pin = home.pin
                    AND as_old.created_at = home.latest
                    AND as_old.created_at < home.until
                    AND as_old.id >= $8::uuid
                ORDER BY as_old.id
                LIMIT home.bound
            )
            UNION ALL
            (
                SELECT *
                FROM memory_plugin.memory_records AS older
                WHERE
                    older.namespace = home.name
                    AND older.pin = home.pin
                    AND older.created_at < least(home.latest, home.until)
                    AND older.created_at >= home.first
                ORDER BY older.created_at DESC, older.id
                LIMIT home.bound
            )
        ) AS stored
        WHERE
            stored.number <= $9::bigint
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
        LIMIT $3
    ) AS memory
),
short AS MATERIALIZED (
    SELECT home.name, home.pin, home.first, home.until, home.latest, home.keys
    FROM home
    LEFT JOIN next ON next.name = home.name AND next.pin = home.pin
    WHERE home.keys IS NOT NULL
    GROUP BY home.name, home.pin, home.first, home.until, home.latest, home.keys
    HAVING count(next.id) < $3
),
page AS MATERIALIZED (
    SELECT id
    FROM (
        SELECT id, created_at FROM next
        UNION
        SELECT memory.id, memory.created_at
        FROM short
        CROSS JOIN LATERAL (
            SELECT stored.id, stored.created_at
            FROM memory_plugin.memory_records AS stored
            WHERE
                memory_plugin.search_keys(
                    stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
                ) @@ short.keys
                AND (stored.namespace = short.name) IS TRUE
                AND (stored.pin = short.pin) IS TRUE
                AND stored.number <= $9
                AND (stored.created_at >= short.first) IS TRUE
                AND (stored.created_at < short.until) IS TRUE
                AND (
                    stored.created_at < short.latest
                    OR (stored.created_at = short.latest AND stored.id >= $8)
                ) IS TRUE
                AND (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
            ORDER BY stored.created_at DESC, stored.id
            LIMIT $3
        ) AS memory
    ) AS found
    ORDER BY created_at DESC, id
    LIMIT $3
)
SELECT stored.*, row_number() OVER (ORDER BY stored.created_at DESC, stored.id) AS place
FROM page
JOIN memory_plugin.memory_records AS stored USING (id)
