-- Words and embedding together, fused by rank: a memory that is high in both lists comes first.
-- Equal ones share their place, so that neither list decides what only the other can tell.
-- Of the best, pinned ones first.
WITH
-- Part of a statement: `found`, the memories that have words of the query $4.
--
-- The first looks are for pinned memories that have any of the words, and for memories that have
-- all of them. Where these are fewer than asked for, a further look takes the last word as the
-- beginning of one, leaves one word out, and takes each word alone. Every look is bounded, in each
-- namespace and over all; where a word is so common that a bound cuts, the newest memories are
-- looked through as well. When nothing has been found, the query may also be a part of a word, or
-- no word at all.
asked AS MATERIALIZED (
    SELECT * FROM memory_plugin.search_terms($4)
),
home AS MATERIALIZED (
    SELECT
        name,
        memory_plugin.search_mark(name) AS mark,
        greatest(600 / count(*) OVER (), $3) AS bound,
        greatest(3000 / count(*) OVER (), 5) AS newest,
        greatest(4000 / count(*) OVER (), 4) AS looks
    FROM memory_plugin.memory_namespaces
    WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > now())
),
looked AS MATERIALIZED (
    (
        SELECT memory.*, home.name, home.bound AS cut, 'pinned' AS template
        FROM asked
        CROSS JOIN home
        CROSS JOIN LATERAL memory_plugin.search_probe(
            home.name, replace(asked.pinned, '@', home.mark)::tsquery, $2::text[], home.bound
        ) AS memory
        LIMIT 3000
    )
    UNION ALL
    (
        SELECT memory.*, home.name, home.bound, 'every'
        FROM asked
        CROSS JOIN home
        CROSS JOIN LATERAL memory_plugin.search_probe(
            home.name, replace(asked.every, '@', home.mark)::tsquery, $2::text[], home.bound
        ) AS memory
        LIMIT 3000
    )
),
looked_further AS MATERIALIZED (
    SELECT memory.*, home.name, greatest(home.bound / asked.size, 5) AS cut, template
    FROM asked
    CROSS JOIN home
    CROSS JOIN unnest(asked.looser[1 : home.looks]) AS template
    CROSS JOIN LATERAL memory_plugin.search_probe(
        home.name,
        replace(template, '@', home.mark)::tsquery,
        $2::text[],
        greatest(home.bound / asked.size, 5)
    ) AS memory
    WHERE (SELECT count(DISTINCT id) FROM looked) < $3
    LIMIT 6000
),
crowded AS (
    SELECT name FROM looked GROUP BY name, template, cut HAVING count(*) >= cut
    UNION
    SELECT name FROM looked_further GROUP BY name, template, cut HAVING count(*) >= cut
    UNION
    SELECT name FROM home
    WHERE
        (SELECT count(*) FROM looked WHERE template = 'every') >= 3000
        OR (SELECT count(*) FROM looked_further) >= 6000
),
seen AS (
    SELECT id, pin, created_at, content, content_tsv, 0 AS rarity FROM looked
    UNION ALL
    SELECT
        id, pin, created_at, content, content_tsv,
        CASE WHEN count(*) OVER look < cut THEN 1.0 / count(*) OVER look ELSE 0 END
    FROM looked_further
    WINDOW look AS (PARTITION BY name, template)
    UNION ALL
    SELECT memory.*, 0
    FROM asked
    CROSS JOIN crowded
    JOIN home USING (name)
    CROSS JOIN LATERAL memory_plugin.search_recent(home.name, $2::text[], home.newest) AS memory
    WHERE memory.content_tsv @@ asked.any_term
),
scored AS MATERIALIZED (
    SELECT
        memory.id, memory.pin, memory.created_at, memory.rarity, asked.size,
        memory_plugin.search_score(
            asked.lexemes, asked.starts, asked.any_term, asked.last_word, asked.begun,
            asked.phrase, asked.literal, memory.content, memory.content_tsv
        ) AS score
    FROM asked
    CROSS JOIN (
        SELECT DISTINCT ON (id) * FROM seen ORDER BY id, rarity DESC
    ) AS memory
),
found AS (
    -- Half of the words are enough; less only where no memory has as many. Of memories that lack as
    -- many words, the one with the rarer words is better.
    SELECT
        id, pin, created_at,
        (score + CASE WHEN score < size THEN 0.03 * rarity ELSE 0 END) / (size + 0.1) AS score
    FROM scored
    WHERE
        score >= size / 2.0 - 0.1
        OR (SELECT max(score) FROM scored) < size / 2.0 - 0.1
    UNION ALL
    SELECT memory.id, memory.pin, memory.created_at, 0.1
    FROM asked
    CROSS JOIN home
    CROSS JOIN LATERAL memory_plugin.search_recent(home.name, $2::text[], home.newest) AS memory
    WHERE
        asked.folded <> ''
        AND asked.size < 2
        AND NOT EXISTS (SELECT FROM scored)
        AND strpos(memory_plugin.search_fold(memory.content), asked.folded) > 0
)

,
-- Part of a statement: `near`, the 40 memories whose embedding is closest to the asked one.
--
-- Few embeddings are compared one by one: nothing is missed. Of many, the index of their dimension
-- proposes candidates, off a copy in half precision, and these are compared. The index looks at
-- the neighbourhood wherever it lies and passes over other namespaces, so the smaller the part of
-- it that may be found, the longer it takes: up to the square root of 700 times its size,
-- comparing one by one is faster.
place AS MATERIALIZED (
    SELECT name
    FROM memory_plugin.memory_namespaces
    WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > now())
),
way AS MATERIALIZED (
    SELECT
        EXISTS (
            SELECT FROM place
            CROSS JOIN LATERAL (
                SELECT FROM memory_plugin.memory_records AS stored
                WHERE stored.dimension = 3 AND stored.namespace = place.name
                OFFSET 0
            ) AS embedded
            OFFSET sqrt(700 * greatest(reltuples, 1))::bigint
        )
        AND vector_norm($5::vector) > 0 AS indexed
    FROM pg_class
    JOIN pg_index ON indexrelid = pg_class.oid
    WHERE pg_class.oid = to_regclass('memory_plugin.memory_records_embedding_3') AND indisvalid
),
compared AS (
    SELECT embedded.*
    FROM place
    -- OFFSET 0 keeps this a look-up for each namespace, however the table is estimated.
    CROSS JOIN LATERAL (
        SELECT stored.id, stored.pin, stored.created_at, stored.embedding
        FROM memory_plugin.memory_records AS stored
        WHERE
            stored.dimension = 3
            AND stored.namespace = place.name
            AND ($2::text[] IS NULL OR stored.kind = ANY($2))
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
        OFFSET 0
    ) AS embedded
    WHERE (SELECT indexed FROM way) IS NOT TRUE
),
proposed AS (
    SELECT stored.id, stored.pin, stored.created_at, stored.embedding
    FROM memory_plugin.memory_records AS stored
    WHERE
        (SELECT indexed FROM way)
        -- IS TRUE hides these two conditions from the other indexes and from a join before this one.
        AND (stored.dimension = 3) IS TRUE
        AND (stored.namespace IN (SELECT place.name FROM place)) IS TRUE
        AND ($2::text[] IS NULL OR stored.kind = ANY($2))
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
    ORDER BY stored.embedding::halfvec(3) <=> $5::vector::halfvec(3)
    LIMIT 40
),
near AS (
    -- A vector of zeros points nowhere: as far from everything as a right angle.
    SELECT
        id, pin, created_at,
        1 - coalesce(nullif(embedding <=> $5::vector, 'NaN'), 1) AS score
    FROM (TABLE compared UNION ALL TABLE proposed) AS candidate
    ORDER BY score DESC, created_at DESC, id
    LIMIT 40
)

, listed AS (
    (
        SELECT id, created_at, rank() OVER (ORDER BY score DESC) AS place
        FROM found
        ORDER BY place, created_at DESC, id
        LIMIT 40
    )
    UNION ALL
    SELECT id, created_at, rank() OVER (ORDER BY score DESC)
    FROM near
),
best AS (
    SELECT id, sum(1.0 / (60 + place))::double precision AS score
    FROM listed
    GROUP BY id, created_at
    ORDER BY score DESC, created_at DESC, id
    LIMIT $3
)
SELECT
    stored.id, stored.namespace, stored.content, stored.kind, stored.source, stored.created_at,
    stored.expires_at, stored.propagation, stored.pin, best.score
FROM best
JOIN memory_plugin.memory_records AS stored USING (id)
ORDER BY stored.pin DESC, best.score DESC, stored.created_at DESC, stored.id
