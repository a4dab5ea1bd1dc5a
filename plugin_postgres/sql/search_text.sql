-- Memories with the words of the query: pinned first, those with most of the words first.
--
-- The first look is for memories that have all the words, and for pinned ones that have any.
-- Where these are fewer than asked for, further looks take the last word as the beginning of one,
-- leave one word out, and take each word alone. Every look is bounded, and where a word is so
-- common that the bound cuts, the newest memories are looked through besides.
WITH asked AS MATERIALIZED (
    SELECT *, cardinality(terms) AS size FROM memory_plugin.search_terms($2)
),
home AS MATERIALIZED (
    SELECT
        name,
        memory_plugin.search_mark(name) AS mark,
        greatest(50, 600 / count(*) OVER ()) AS bound
    FROM memory_plugin.memory_namespaces
    WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > now())
),
first_look AS MATERIALIZED (
    SELECT memory.id, memory.pin, memory.created_at, memory.score, home.name, home.bound
    FROM asked
    CROSS JOIN home
    CROSS JOIN unnest(ARRAY[asked.every, asked.pinned]) AS template
    CROSS JOIN LATERAL (
        SELECT stored.id, stored.pin, stored.created_at, memory_plugin.search_score(
            asked.terms, asked.any_term, asked.begun, asked.phrase, asked.literal,
            stored.content, stored.content_tsv
        ) AS score
        FROM memory_plugin.memory_records AS stored
        WHERE
            memory_plugin.search_keys(stored.namespace, stored.pin, stored.content_tsv)
            @@ replace(template, '@', home.mark)::tsquery
            AND stored.namespace IS NOT DISTINCT FROM home.name
            AND ($3::text[] IS NULL OR stored.kind = ANY($3))
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
        LIMIT home.bound
    ) AS memory
),
further_look AS MATERIALIZED (
    SELECT memory.id, memory.pin, memory.created_at, memory.score, home.name, home.bound
    FROM asked
    CROSS JOIN home
    CROSS JOIN unnest(asked.looser) AS template
    CROSS JOIN LATERAL (
        SELECT stored.id, stored.pin, stored.created_at, memory_plugin.search_score(
            asked.terms, asked.any_term, asked.begun, asked.phrase, asked.literal,
            stored.content, stored.content_tsv
        ) AS score
        FROM memory_plugin.memory_records AS stored
        WHERE
            memory_plugin.search_keys(stored.namespace, stored.pin, stored.content_tsv)
            @@ replace(template, '@', home.mark)::tsquery
            AND stored.namespace IS NOT DISTINCT FROM home.name
            AND ($3::text[] IS NULL OR stored.kind = ANY($3))
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
        LIMIT greatest(20, home.bound / asked.size)
    ) AS memory
    WHERE (SELECT count(DISTINCT id) FROM first_look) < $4
),
newest_look AS (
    SELECT memory.id, memory.pin, memory.created_at, memory.score
    FROM asked
    CROSS JOIN (
        SELECT DISTINCT name, bound FROM (
            SELECT name, bound FROM first_look GROUP BY name, bound HAVING count(*) >= bound
            UNION ALL
            SELECT name, bound FROM further_look GROUP BY name, bound HAVING count(*) >= bound
        ) AS crowded
    ) AS home
    CROSS JOIN LATERAL (
        SELECT newest.id, newest.pin, newest.created_at, memory_plugin.search_score(
            asked.terms, asked.any_term, asked.begun, asked.phrase, asked.literal,
            newest.content, newest.content_tsv
        ) AS score
        FROM (
            SELECT *
            FROM memory_plugin.memory_records AS stored
            WHERE
                stored.namespace = home.name
                AND ($3::text[] IS NULL OR stored.kind = ANY($3))
            ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
            LIMIT 4 * home.bound
        ) AS newest
        WHERE
            newest.content_tsv @@ asked.any_term
            AND (newest.expires_at IS NULL OR newest.expires_at > now())
    ) AS memory
),
found AS (
    SELECT id, pin, created_at, score FROM first_look
    UNION
    SELECT id, pin, created_at, score FROM further_look
    UNION
    SELECT id, pin, created_at, score FROM newest_look
),
best AS (
    SELECT found.id, found.pin, found.created_at, found.score / (asked.size + 0.1) AS score
    FROM (SELECT *, max(found.score) OVER () AS top FROM found) AS found, asked
    WHERE found.score >= asked.size / 2.0 - 0.1 OR found.top < asked.size / 2.0 - 0.1
    ORDER BY found.pin DESC, found.score DESC, found.created_at DESC, found.id
    LIMIT $4
)
SELECT
    stored.id, stored.namespace, stored.content, stored.kind, stored.source, stored.created_at,
    stored.expires_at, stored.propagation, stored.pin, best.score
FROM best
JOIN memory_plugin.memory_records AS stored USING (id)
ORDER BY best.pin DESC, best.score DESC, best.created_at DESC, best.id
