-- Memories with some words of the query, best first: the answer of search_text in less time, in the usual case that no
-- memory is pinned. Otherwise the answer is one row of nulls whose `pin` is true. The caller drops what scores less than
-- a fifth of the best.
--
-- $1 to $4 are the namespaces, kinds, limit and fields of every search; $5 to $7 are the query as a phrase, the query
-- if it is more than words, and whether it is a question.
-- A clue is as in search_found. For each one that is looked up, $8 is the tsquery for the index, $9 the one to check a
-- memory with, and $10 what it counts; $11 is the bound of each lookup. $12 is the number of the clue for words that
-- begin with the last word and are not that word, and $13 that of the word itself. $14 are the clues that are not
-- looked up, $15 their weights, and $16 the sum of these.
-- The remaining parameters are for search_further: $17 finds memories with all the words, at most $18 of them; $19 finds
-- stems that a word may have that begins with the last word, $20; and $21 is how many of the newest memories of each
-- namespace are candidates as well if the clues that are not looked up, or whose lookup was cut off, weigh enough.
WITH home AS MATERIALIZED (
    SELECT name
    FROM memory_plugin.memory_namespaces
    WHERE name = ANY($1::text::text[]) AND (expires_at IS NULL OR expires_at > now())
),
hit AS MATERIALIZED (
    SELECT look.number, memory.*
    FROM unnest($8::text::tsquery[]) WITH ORDINALITY AS look (keys, number)
    CROSS JOIN LATERAL (
        SELECT
            stored.id, stored.ctid AS place, stored.created_at, length(stored.content_tsv) AS length,
            stored.content_tsv
        FROM memory_plugin.memory_records AS stored
        WHERE
            memory_plugin.search_keys(
                stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
            ) @@ look.keys
            -- IS TRUE hides this from the index of namespaces, which would be read as well.
            AND (stored.namespace = ANY(ARRAY(SELECT home.name FROM home))) IS TRUE
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
        LIMIT $11::bigint
    ) AS memory
),
-- `cut` are the clues that were not looked up or whose lookup was cut off: each memory is checked for them.
state AS MATERIALIZED (
    SELECT
        *,
        open > 0 AND open >= 0.17 * best AND (sure < 60 OR most < $3::bigint) AS needs_newest,
        CASE WHEN open > 0 THEN $17::text END AS every,
        (
            -- A limit that is unknown to the planner keeps PostgreSQL from scanning the table instead.
            SELECT true FROM memory_plugin.memory_records AS stored
            WHERE stored.namespace = ANY(ARRAY(SELECT home.name FROM home)) AND stored.pin
            LIMIT (SELECT 1)
        ) IS NULL AS is_usual
    FROM (
        SELECT
            coalesce(sum(weight) FILTER (WHERE number IS DISTINCT FROM $12::integer), 0)
            + $16::double precision AS total,
            array_agg(CASE WHEN is_cut THEN 0 ELSE weight END ORDER BY number) AS weights,
            nullif($14::text::tsquery[] || array_agg(lexeme ORDER BY number) FILTER (WHERE is_cut), '{}') AS cut,
            $15::text::double precision[] || array_agg(weight ORDER BY number) FILTER (WHERE is_cut) AS cut_weights,
            coalesce(sum(weight) FILTER (WHERE is_cut), 0) + $16 AS open,
            coalesce(max(weight) FILTER (WHERE NOT is_cut AND found > 0), 0) AS best,
            coalesce(sum(found) FILTER (WHERE NOT is_cut), 0) AS sure,
            coalesce(max(found) FILTER (WHERE NOT is_cut), 0) AS most,
            max(weight) FILTER (WHERE number = $12) AS begun,
            $20::text IS NOT NULL AND max(found) FILTER (WHERE number IN ($12, $13)) = 0 AS is_begun
        FROM (
            SELECT
                number, lexeme, found, found >= $11 AS is_cut,
                memory_plugin.search_weight(
                    factor,
                    -- A word and what begins with it are worth the same.
                    CASE WHEN number IN ($12, $13::integer) THEN coalesce(nullif(of_word, 0), of_begun) ELSE found END
                ) AS weight
            FROM (
                SELECT
                    clue.number, clue.lexeme, clue.factor, coalesce(looked.found, 0) AS found,
                    max(looked.found) FILTER (WHERE clue.number = $13) OVER () AS of_word,
                    max(looked.found) FILTER (WHERE clue.number = $12) OVER () AS of_begun
                FROM
                    unnest($9::text::tsquery[], $10::text::double precision[])
                    WITH ORDINALITY AS clue (lexeme, factor, number)
                LEFT JOIN (SELECT number, count(*) AS found FROM hit GROUP BY number) AS looked USING (number)
            ) AS counted
            OFFSET 0
        ) AS weighed
    ) AS summed
),
best AS (
    SELECT *, row_number() OVER () AS rank
    FROM (
        SELECT
            id, min(place) AS place, created_at,
            memory_plugin.search_worth(sum(weight) + asked, (SELECT total FROM state), length) AS worth
        FROM (
            SELECT
                id, place, created_at, length, weight,
                CASE WHEN (SELECT cut IS NULL FROM state) THEN 0 ELSE
-- include: search_cut
                END AS asked
            FROM (
                SELECT
                    id, place, created_at, length, content_tsv, (SELECT weights FROM state)[number] AS weight
                FROM hit
                WHERE (SELECT is_usual FROM state)
                UNION ALL
                SELECT
                    memory.id, NULL, memory.created_at, length(memory.content_tsv), memory.content_tsv,
                    CASE WHEN memory.is_begun THEN state.begun ELSE 0 END
                FROM state
                CROSS JOIN LATERAL memory_plugin.search_further(
                    ARRAY(SELECT home.name FROM home), $2, $4, NULL, NULL, state.every, $18::bigint,
                    CASE WHEN state.needs_newest THEN $21::bigint END, NULL,
                    CASE WHEN state.is_begun THEN $19::text END, $20, $11
                ) AS memory
                WHERE state.is_usual AND (state.is_begun OR state.needs_newest OR state.every IS NOT NULL)
                UNION ALL
                SELECT NULL, NULL, NULL, NULL, NULL, 1 FROM state WHERE NOT is_usual
            ) AS pool
        ) AS checked
        GROUP BY id, created_at, length, asked
        HAVING sum(weight) + asked > 0
        ORDER BY worth DESC, created_at DESC, id
        LIMIT greatest($3 * 3 / 2, 60)
    ) AS sorted
)
-- Ids are returned as text, which the driver decodes faster.
SELECT
    found.id::text, stored.namespace, stored.content, stored.kind, stored.source, found.created_at, stored.expires_at,
    stored.propagation, found.id IS NULL AS pin,
    memory_plugin.search_score(found.worth, stored.content, stored.content_tsv, $5, $6, $7) AS score
FROM (
    SELECT
        id, created_at, worth,
        coalesce(
            place, (SELECT known.ctid FROM memory_plugin.memory_records AS known WHERE known.id = best.id)
        ) AS place
    FROM best
    -- The others cannot get into the answer: their scores are in the order of what they are worth.
    WHERE rank <= $3 OR worth >= 0.8 OR $7
    OFFSET 0
) AS found
-- OFFSET 0 forces one lookup per row, however small the table was when this was planned.
LEFT JOIN LATERAL (
    SELECT namespace, content, kind, source, expires_at, propagation, content_tsv
    FROM memory_plugin.memory_records AS any_stored
    WHERE any_stored.ctid = found.place
    OFFSET 0
) AS stored ON true
ORDER BY score DESC, found.created_at DESC, found.id
LIMIT $3
