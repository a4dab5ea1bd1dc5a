-- Part of a statement: `found`, the memories that have words of the query $4.
--
-- The first look is for memories that have all the words, and for pinned ones that have any.
-- Where these are fewer than asked for, further looks take the last word as the beginning of one,
-- leave one word out, and take each word alone. Every look is bounded; where a word is so common that
-- the bound cuts, the newest memories are looked through as well. When nothing has been found, a
-- word may also be a part of another, or no word at all.
asked AS MATERIALIZED (
    SELECT *, cardinality(terms) AS size FROM memory_plugin.search_terms($4)
),
home AS MATERIALIZED (
    SELECT
        name,
        memory_plugin.search_mark(name) AS mark,
        greatest(600 / count(*) OVER (), 50) AS bound
    FROM memory_plugin.memory_namespaces
    WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > now())
),
first_look AS MATERIALIZED (
    SELECT memory.*, home.name, home.bound, template
    FROM asked
    CROSS JOIN home
    CROSS JOIN unnest(ARRAY[asked.every, asked.pinned]) AS template
    CROSS JOIN LATERAL (
        SELECT
            stored.id, stored.pin, stored.created_at,
            memory_plugin.search_score(
                asked.terms, asked.any_term, asked.last_word, asked.begun, asked.phrase,
                asked.literal, stored.content, stored.content_tsv
            ) AS score
        FROM memory_plugin.memory_records AS stored
        WHERE
            memory_plugin.search_keys(stored.namespace, stored.pin, stored.content_tsv)
            @@ replace(template, '@', home.mark)::tsquery
            -- Not `=`, which would have the index of the namespace read besides.
            AND stored.namespace IS NOT DISTINCT FROM home.name
            AND ($2::text[] IS NULL OR stored.kind = ANY($2))
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
        LIMIT home.bound
    ) AS memory
),
further_look AS MATERIALIZED (
    SELECT memory.*, home.name, home.bound, template, greatest(home.bound / asked.size, 20) AS cut
    FROM asked
    CROSS JOIN home
    CROSS JOIN unnest(asked.looser) AS template
    CROSS JOIN LATERAL (
        SELECT
            stored.id, stored.pin, stored.created_at,
            memory_plugin.search_score(
                asked.terms, asked.any_term, asked.last_word, asked.begun, asked.phrase,
                asked.literal, stored.content, stored.content_tsv
            ) AS score
        FROM memory_plugin.memory_records AS stored
        WHERE
            memory_plugin.search_keys(stored.namespace, stored.pin, stored.content_tsv)
            @@ replace(template, '@', home.mark)::tsquery
            AND stored.namespace IS NOT DISTINCT FROM home.name
            AND ($2::text[] IS NULL OR stored.kind = ANY($2))
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
        LIMIT greatest(home.bound / asked.size, 20)
    ) AS memory
    WHERE (SELECT count(DISTINCT id) FROM first_look) < $3
),
newest_look AS (
    SELECT memory.*
    FROM asked
    CROSS JOIN (
        SELECT name, bound FROM first_look
        GROUP BY name, bound, template HAVING count(*) >= bound
        UNION
        SELECT name, bound FROM further_look
        GROUP BY name, bound, template, cut HAVING count(*) >= cut
    ) AS crowded
    CROSS JOIN LATERAL (
        SELECT
            newest.id, newest.pin, newest.created_at,
            memory_plugin.search_score(
                asked.terms, asked.any_term, asked.last_word, asked.begun, asked.phrase,
                asked.literal, newest.content, newest.content_tsv
            ) AS score
        FROM (
            SELECT *
            FROM memory_plugin.memory_records AS stored
            WHERE
                stored.namespace = crowded.name
                AND ($2::text[] IS NULL OR stored.kind = ANY($2))
            ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
            LIMIT 4 * crowded.bound
        ) AS newest
        WHERE
            newest.content_tsv @@ asked.any_term
            AND (newest.expires_at IS NULL OR newest.expires_at > now())
    ) AS memory
),
seen AS MATERIALIZED (
    SELECT id, pin, created_at, score, 0 AS rarity FROM first_look
    UNION ALL
    SELECT
        id, pin, created_at, score,
        CASE WHEN count(*) OVER look < cut THEN 1.0 / count(*) OVER look ELSE 0 END
    FROM further_look
    WINDOW look AS (PARTITION BY name, template)
    UNION ALL
    SELECT id, pin, created_at, score, 0 FROM newest_look
),
scored AS MATERIALIZED (
    -- Of memories that lack as many words, the one with the rarer words is better.
    SELECT
        seen.id, seen.pin, seen.created_at,
        max(seen.score)
        + CASE WHEN max(seen.score) < asked.size THEN 0.03 * max(seen.rarity) ELSE 0 END AS score
    FROM asked
    CROSS JOIN seen
    GROUP BY seen.id, seen.pin, seen.created_at, asked.size
),
literal_look AS (
    SELECT memory.*
    FROM asked
    CROSS JOIN home
    CROSS JOIN LATERAL (
        SELECT newest.id, newest.pin, newest.created_at, 0.1 AS score
        FROM (
            SELECT *
            FROM memory_plugin.memory_records AS stored
            WHERE
                stored.namespace = home.name
                AND ($2::text[] IS NULL OR stored.kind = ANY($2))
            ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
            LIMIT 5 * home.bound
        ) AS newest
        WHERE
            strpos(memory_plugin.search_fold(newest.content), asked.folded) > 0
            AND (newest.expires_at IS NULL OR newest.expires_at > now())
    ) AS memory
    WHERE asked.folded <> '' AND coalesce(asked.size, 0) < 2 AND NOT EXISTS (SELECT FROM scored)
),
found AS (
    -- Half of the words are enough; less only where no memory has as many.
    SELECT scored.id, scored.pin, scored.created_at, scored.score / (asked.size + 0.1) AS score
    FROM asked
    CROSS JOIN scored
    WHERE
        scored.score >= asked.size / 2.0 - 0.1
        OR (SELECT max(score) FROM scored) < asked.size / 2.0 - 0.1
    UNION ALL
    SELECT id, pin, created_at, score FROM literal_look
)
