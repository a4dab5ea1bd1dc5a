-- Part of a statement: `found`, the memories that have words of the query, with what they are worth. What
-- the index of words finds of them is `hit`, which search_hits makes, or search_hits_in_families.
--
-- A clue is a word of the query, by its stem, or a pair of characters, or words that begin with the last
-- one. A memory is worth the sum of the clues that it has, and a clue is worth the more the fewer memories
-- have it: ln(1 + 1000 / number). The looks for single clues count them.
--
-- No look is without a bound. PostgreSQL reads all that the index has of a clue before it applies one, so
-- a clue that a sample shows to be crowded is not looked up; memories found by other clues, the newest
-- and the pinned ones are asked for it themselves. So are they for a clue whose look was cut.
--
-- $1 to $6 are those of every search: namespaces, kinds, limit, fields, and the span of time. $7 to $9 are
-- the words next to each other, the query where it is more than words, and whether it is a question.
-- Of each clue, $10 is what a memory is asked for, $11 what it counts, $12 about how many memories have it,
-- where it is not looked up. $13 is the clue of what begins with the last word, $14 that of the word itself.
-- Of each look, $15 is what the index is asked for, $16 the clue, $17 the bound of each.
-- The others are what search_further looks for: $18 asks for memories with all the words, of which $19 are
-- taken; $20 asks for any clue, $21 for stems that a word may have that begins with the last word, which is
-- $22: with '@' where the mark of a namespace belongs. $23 is whether the newest are looked at without a
-- span of time, too. $24 is the query, folded, where it may be a part of a word or no word at all; $25 is
-- whether it has function words only, which are in the index for memories of few words. $26 is the number of
-- namespaces, $27 the clue $13 as in $10. Long arrays are passed as text (`plugin_postgres.arrays`).
-- How many memories each clue has, and whether there may be more.
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
-- What each clue is worth, and what the looks have left open. `cut` are the clues that were not looked up, or
-- whose look was cut: memories are asked for them one by one.
state AS MATERIALIZED (
    SELECT
        *,
        -- A memory that no look has found has only clues that were cut. Where these weigh too little, it is not
        -- worth a fifth of the best and would be left out in the end.
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
        CASE
            WHEN clue = $13 AND NOT content_tsv @@ $27::tsquery THEN 0
            ELSE (SELECT weights FROM state)[clue]
        END AS weight
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
            -- The first few are asked for one after the other, which is several times as fast as a loop.
            CASE WHEN content_tsv @@ (SELECT cut[1] FROM state) THEN (SELECT cut_weights[1] FROM state) ELSE 0 END
            + CASE WHEN content_tsv @@ (SELECT cut[2] FROM state) THEN (SELECT cut_weights[2] FROM state) ELSE 0 END
            + CASE WHEN content_tsv @@ (SELECT cut[3] FROM state) THEN (SELECT cut_weights[3] FROM state) ELSE 0 END
            + CASE WHEN content_tsv @@ (SELECT cut[4] FROM state) THEN (SELECT cut_weights[4] FROM state) ELSE 0 END
            + CASE WHEN (SELECT cardinality(cut) > 4 FROM state) THEN coalesce(
                (
                    SELECT sum(clue.weight)
                    FROM unnest((SELECT cut[5:] FROM state), (SELECT cut_weights[5:] FROM state))
                        AS clue (lexeme, weight)
                    WHERE content_tsv @@ clue.lexeme
                ), 0
            ) ELSE 0 END AS further
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
    LIMIT greatest($3 * 3, 60)
),
found AS MATERIALIZED (
    SELECT
        best.id, best.pin, best.created_at,
        memory_plugin.search_score(best.worth, stored.content, stored.content_tsv, $7, $8, $9) AS score
    FROM best
    -- OFFSET 0 keeps this a look-up for each, however small the table was when this was planned.
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
