-- Part of a statement: one page in id order, starting at $7: the next memories of each namespace from its index,
-- then the first of them all.
--
-- With a filter, a limited number is read in that order. If they do not fill the page, the word index or the index
-- on time finds what matches. Only a listing of facts has neither.
WITH home AS MATERIALIZED (
    SELECT
        name,
        memory_plugin.search_in(
            nullif(substr(memory_plugin.search_filter($2::text[], $4::jsonb), 4), ''),
            ARRAY[memory_plugin.search_mark(name)]
        ) AS keys,
        $5::timestamptz IS NOT NULL OR $6::timestamptz IS NOT NULL AS has_span,
        CASE
            WHEN $2 IS NULL AND $4 IS NULL AND $5 IS NULL AND $6 IS NULL THEN $3
            WHEN $4 IS NULL AND $5 IS NULL AND $6 IS NULL AND 'fact' = ANY($2) THEN NULL
            ELSE greatest(20 * $3, 2000)
        END AS bound
    FROM memory_plugin.memory_namespaces
    WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > now())
),
next AS MATERIALIZED (
    SELECT home.name, memory.id
    FROM home
    CROSS JOIN LATERAL (
        SELECT stored.id
        FROM (
            SELECT *
            FROM memory_plugin.memory_records AS any_next
            WHERE
                any_next.namespace = home.name
                AND any_next.id >= $7::uuid
                AND (any_next.expires_at IS NULL OR any_next.expires_at > now())
            ORDER BY any_next.id
            LIMIT home.bound
        ) AS stored
        WHERE
            ($5 IS NULL OR stored.created_at >= $5)
            AND ($6 IS NULL OR stored.created_at < $6)
-- include: search_filter
        LIMIT $3
    ) AS memory
),
short AS MATERIALIZED (
    SELECT home.name, home.keys, home.has_span
    FROM home
    LEFT JOIN next ON next.name = home.name
    WHERE home.keys IS NOT NULL OR home.has_span
    GROUP BY home.name, home.keys, home.has_span
    HAVING count(next.id) < $3
),
page AS MATERIALIZED (
    SELECT id
    FROM (
        SELECT id FROM next
        UNION
        SELECT memory.id
        FROM short
        CROSS JOIN LATERAL (
            SELECT stored.id
            FROM memory_plugin.memory_records AS stored
            WHERE
                memory_plugin.search_keys(
                    stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
                ) @@ short.keys
                AND (stored.namespace = short.name) IS TRUE
                AND (stored.id >= $7) IS TRUE
                AND ($5 IS NULL OR stored.created_at >= $5)
                AND ($6 IS NULL OR stored.created_at < $6)
                AND (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
            ORDER BY stored.id
            LIMIT $3
        ) AS memory
        WHERE short.keys IS NOT NULL
        UNION
        SELECT memory.id
        FROM short
        CROSS JOIN LATERAL (
            SELECT stored.id
            FROM (VALUES (true), (false)) AS pinned (pin)
            CROSS JOIN LATERAL (
                SELECT *
                FROM memory_plugin.memory_records AS in_span
                WHERE
                    in_span.namespace = short.name
                    AND in_span.pin = pinned.pin
                    AND in_span.created_at >= coalesce($5, '-infinity')
                    AND in_span.created_at < coalesce($6, 'infinity')
                    AND in_span.id >= $7
                OFFSET 0
            ) AS stored
            WHERE
                (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
            ORDER BY stored.id
            LIMIT $3
        ) AS memory
        WHERE short.keys IS NULL
    ) AS found
    ORDER BY id
    LIMIT $3
)
SELECT stored.*, row_number() OVER (ORDER BY stored.id) AS place
FROM page
JOIN memory_plugin.memory_records AS stored USING (id)
