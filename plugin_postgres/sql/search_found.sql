-- Part of a statement: `found`, the memories with words of the query, and their scores. `hit` is what the word index
-- finds of them; search_hits or search_hits_in_families defines it.
--
-- A clue is the stem of a word of the query, a pair of characters, or words that begin with the last word. A memory
-- is worth the sum of the weights of its clues. The fewer memories have a clue, the more it weighs:
-- ln(1 + 1000 / number). The lookups count them.
--
-- Every lookup is bounded. PostgreSQL reads all index entries of a clue before it applies a limit, so a clue that is
-- crowded according to a sample is not looked up. Instead, the memories that other clues have found, the newest and
-- the pinned ones are checked for it. The same goes for a clue whose lookup was cut off at its bound.
--
-- $1 to $6 are those of every search: namespaces, kinds, limit, fields, and the time range. $7 to $9 are the query as
-- a phrase, the query if it is more than words that count, and whether it is a question.
-- For each clue, $10 is the tsquery to check a memory with, $11 what it counts, and $12 about how many memories have
-- it if it is not looked up. $13 is the number of the clue for words that begin with the last word and are not that
-- word, $14 that of the word itself. For each lookup, $15 is the tsquery for the index and $16 the clue; $17 is the
-- bound of each. The remaining parameters are mostly for search_further, with '@' in place of the namespace's mark:
-- $18 finds memories with all the words, at most $19 of them; $20 finds any clue; $21 finds stems that a word may have
-- that begins with the last word, $22. $23 is whether to check the newest memories even without a time range. $24 is
-- the folded query if it may be part of a word or no word at all, and $25 whether it has only function words, which
-- are indexed only for short memories. $26 is the number of namespaces. Long arrays are passed as text
-- (`plugin_postgres.arrays`).
-- How many memories have each clue, and whether there may be more.
counted AS MATERIALIZED (
    SELECT
        clue.number, clue.lexeme, clue.factor,
        coalesce(looked.found, clue.estimate, 0) AS found,
        clue.estimate IS NOT NULL OR $5 IS NOT NULL OR $6 IS NOT NULL OR coalesce(looked.most >= $17, false) AS is_cut
    FROM
        unnest($10::text::tsquery[], $11::text::double precision[], $12::text::integer[])
        WITH ORDINALITY AS clue (lexeme, factor, estimate, number)
    LEFT JOIN (
        SELECT clue, sum(found)::bigint AS found, max(found) AS most
        FROM (SELECT clue, count(*) AS found FROM hit GROUP BY number, clue) AS one
        GROUP BY clue
    ) AS looked ON looked.clue = clue.number
),
-- The weight of each clue, and what the lookups have left open. `cut` are the clues that were not looked up or whose
-- lookup was cut off: each memory is checked for them.
state AS MATERIALIZED (
    SELECT
        *,
        -- A memory that no lookup has found can only have clues in `cut`. If these weigh too little, it scores less
        -- than a fifth of the best and would be left out in the end.
        is_cut AND weight_of_cut >= 0.17 * best AS needs_more,
        $23::boolean AND is_cut AND weight_of_cut >= 0.17 * best AND (sure < 60 OR most < $3::bigint) AS needs_newest
    FROM (
        SELECT
            sum(weight) FILTER (WHERE number IS DISTINCT FROM $13) AS total,
            array_agg(CASE WHEN is_cut THEN 0 ELSE weight END ORDER BY number) AS weights,
            bool_or(is_cut) AS is_cut,
            array_agg(lexeme ORDER BY number) FILTER (WHERE is_cut) AS cut,
            array_agg(weight ORDER BY number) FILTER (WHERE is_cut) AS cut_weights,
            coalesce(sum(weight) FILTER (WHERE is_cut), 0) AS weight_of_cut,
            coalesce(max(weight) FILTER (WHERE NOT is_cut AND found > 0), 0) AS best,
            coalesce(sum(found) FILTER (WHERE NOT is_cut), 0) AS sure,
            coalesce(max(found) FILTER (WHERE NOT is_cut), 0) AS most,
            max(weight) FILTER (WHERE number = $13) AS begun,
            $22::text IS NOT NULL AND coalesce(sum(found) FILTER (WHERE number IN ($13, $14)), 0) = 0 AS is_begun
        FROM (
            SELECT
                *,
                memory_plugin.search_weight(
                    factor,
                    CASE
                        -- A word and what begins with it are worth the same.
                        WHEN number IN ($13::integer, $14::integer) THEN (
                            SELECT coalesce(
                                nullif(max(found) FILTER (WHERE number = $14), 0),
                                max(found) FILTER (WHERE number = $13)
                            )
                            FROM counted
                        )
                        ELSE found
                    END
                ) AS weight
            FROM counted
            OFFSET 0
        ) AS weighed
    ) AS summed
),
pool AS (
    SELECT
        id, pin, created_at, content_tsv,
        (SELECT weights FROM state)[clue] AS weight
    FROM hit
    UNION ALL
    SELECT
        memory.id, memory.pin, memory.created_at, memory.content_tsv,
        CASE WHEN memory.is_begun THEN state.begun ELSE 0 END
    FROM state
    CROSS JOIN LATERAL memory_plugin.search_further(
        ARRAY(SELECT home.name FROM home), $2, $4, $5, $6,
        CASE WHEN state.is_cut THEN $18::text END, $19::bigint,
        CASE
            WHEN $5 IS NOT NULL OR $6 IS NOT NULL THEN greatest(1000 / $26::integer, 5)
            WHEN state.needs_newest THEN greatest(least(greatest(8 * $3, 160), 400) / $26, 2)
        END,
        CASE WHEN state.needs_more THEN $20::text END,
        CASE WHEN state.is_begun THEN $21::text END, $22, $17
    ) AS memory
    WHERE
        state.is_begun
        OR $5 IS NOT NULL OR $6 IS NOT NULL
        OR state.is_cut AND $18 IS NOT NULL
        OR state.needs_newest
        OR state.needs_more AND (SELECT pinned.exist FROM pinned)
),
scored AS MATERIALIZED (
    SELECT
        id, bool_or(pin) AS pin, max(created_at) AS created_at,
        memory_plugin.search_worth(
            sum(weight) + max(further), (SELECT total FROM state), max(length)
        ) AS worth
    FROM (
        SELECT
            id, pin, created_at, weight, length(content_tsv) AS length,
-- include: search_cut
            AS further
        FROM pool
    ) AS memory
    GROUP BY id
),
best AS MATERIALIZED (
    SELECT *
    FROM scored
    WHERE worth > 0
    ORDER BY
        pin AND worth >= 0.2 * (SELECT max(worth) FROM scored) DESC, worth DESC, created_at DESC, id
    LIMIT greatest($3 * 3 / 2, 60)
),
found AS MATERIALIZED (
    SELECT
        best.id, best.pin, best.created_at,
        memory_plugin.search_score(best.worth, stored.content, stored.content_tsv, $7, $8, $9) AS score
    FROM best
    -- OFFSET 0 forces one lookup per row, however small the table was when this was planned.
    CROSS JOIN LATERAL (
        SELECT content, content_tsv FROM memory_plugin.memory_records AS any_stored
        WHERE any_stored.id = best.id
        OFFSET 0
    ) AS stored
    UNION ALL
    SELECT part.id, part.pin, part.created_at, 0.3
    FROM memory_plugin.search_part(
        $24::text, ARRAY(SELECT best.id FROM best), ARRAY(SELECT home.name FROM home), $2, $4, $5, $6
    ) AS part
    WHERE $24 IS NOT NULL AND ($25::boolean OR NOT EXISTS (SELECT FROM best))
)
