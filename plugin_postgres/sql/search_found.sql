-- Part of a statement: `found`, the memories that have words of the query, with what they are worth.
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
-- Of each clue, $10 is what a memory is asked for, $11 what it counts, $12 the clue of the whole word:
-- itself, unless it is one that begins with the last word. Of each look, $13 is what the index is asked
-- for, $14 the clue, $15 the bound of each. $16 asks for memories with all the words, of which $17 are
-- taken; $18 is how many memories the sample has, $19 whether the crowded are left out. $20 asks for any
-- clue, $21 for stems that a word may have that begins with the last word, which is $22: with '@' where the
-- mark of a namespace belongs. $23 is the query, folded, where it may be a part of a word or no word at
-- all; $24 is whether it has function words only, which are in the index for memories of few words. $25 is how
-- many memories have each clue, where that was estimated before; $26 is whether the newest are looked at
-- without a span of time, too.
home AS MATERIALIZED (
    SELECT name
    FROM memory_plugin.memory_namespaces
    WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > now())
),
sample AS MATERIALIZED (
    SELECT newest.content_tsv, newest.pin
    FROM home
    CROSS JOIN LATERAL (
        SELECT stored.content_tsv, stored.pin
        FROM memory_plugin.memory_records AS stored
        WHERE stored.namespace = home.name
        ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
        LIMIT greatest($18::integer / cardinality($1), 4)
    ) AS newest
    LIMIT $18
),
-- About how many memories have each clue. They are counted up to 1,600, which is enough to know that a clue of
-- an eighth of the sample is crowded; a clue of fewer is looked up.
clue AS MATERIALIZED (
    SELECT
        *,
        CASE
            WHEN $25::bigint[] IS NOT NULL THEN $25[number]
            WHEN 8 * seen < taken OR taken < 32 THEN 0
            ELSE seen * (
                SELECT count(*)
                FROM (
                    SELECT FROM home
                    CROSS JOIN LATERAL (
                        -- The order, and a limit unknown when it is planned, keep PostgreSQL from reading
                        -- all that the namespace has before it stops.
                        SELECT FROM memory_plugin.memory_records AS stored
                        WHERE stored.namespace = home.name
                        ORDER BY stored.id
                        LIMIT (SELECT 1600)
                    ) AS memory
                    LIMIT 1600
                ) AS counted
            ) / taken
        END AS estimate
    FROM (
        SELECT
            number::integer, whole, lexeme, factor, (SELECT count(*) FROM sample) AS taken,
            (SELECT count(*) FROM sample WHERE content_tsv @@ lexeme) AS seen
        FROM unnest($10::tsquery[], $11::double precision[], $12::integer[])
            WITH ORDINALITY AS given (lexeme, factor, whole, number)
        OFFSET 0
    ) AS given
),
asked AS MATERIALIZED (
    SELECT
        *,
        number <> ALL($14::integer[])
        OR ($19::boolean AND (
            estimate >= 200
            OR number <> whole AND (SELECT word.estimate FROM clue AS word WHERE word.number = clue.whole) >= 200
        )) AS is_crowded
    FROM clue
),
hit AS MATERIALIZED (
    SELECT look.number, look.clue, memory.id, memory.pin, memory.created_at, memory.content_tsv
    FROM (
        SELECT given.keys, given.clue, given.number
        FROM unnest($13::tsquery[], $14) WITH ORDINALITY AS given (keys, clue, number)
        WHERE given.clue IN (SELECT asked.number FROM asked WHERE NOT is_crowded)
        OFFSET 0
    ) AS look
    CROSS JOIN LATERAL (
        SELECT probed.*
        FROM (
            SELECT stored.id, stored.pin, stored.created_at, stored.content_tsv
            FROM memory_plugin.memory_records AS stored
            WHERE
                memory_plugin.search_keys(
                    stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
                ) @@ look.keys
-- include: search_look
            -- Of those that a span of time refuses, no more are read; the newest in it are looked at anyway.
            LIMIT CASE WHEN $5::timestamptz IS NULL AND $6::timestamptz IS NULL THEN $15::bigint ELSE 2000 END
        ) AS probed
        WHERE ($5 IS NULL OR probed.created_at >= $5) AND ($6 IS NULL OR probed.created_at < $6)
        LIMIT $15
    ) AS memory
),
-- How many memories each clue has, and whether there may be more.
counted AS MATERIALIZED (
    SELECT
        asked.number, asked.whole, asked.lexeme, asked.factor,
        -- A clue that was looked up and not found has none, even if the sample has some: these are filtered
        -- out or have expired.
        coalesce(
            looked.found,
            CASE
                WHEN asked.is_crowded OR $5 IS NOT NULL OR $6 IS NOT NULL
                THEN least(asked.estimate, cardinality($13) * $15)
            END,
            0
        )::integer AS found,
        asked.is_crowded OR coalesce(looked.is_cut, $5 IS NOT NULL OR $6 IS NOT NULL) AS is_cut
    FROM asked
    LEFT JOIN (
        SELECT clue, sum(found) AS found, bool_or(found >= $15) OR $5 IS NOT NULL OR $6 IS NOT NULL AS is_cut
        FROM (SELECT clue, count(*) AS found FROM hit GROUP BY number, clue) AS one
        GROUP BY clue
    ) AS looked ON looked.clue = asked.number
),
weighed AS MATERIALIZED (
    SELECT
        *,
        -- A word and what begins with it are worth the same.
        factor * ln(1 + 1000 / greatest(
            CASE
                WHEN number <> whole THEN coalesce(
                    (SELECT nullif(word.found, 0) FROM counted AS word WHERE word.number = counted.whole), found
                )
                WHEN found = 0 THEN (
                    SELECT begun.found FROM counted AS begun
                    WHERE begun.whole = counted.number AND begun.number <> begun.whole
                )
                ELSE found
            END, 1
        )::double precision) AS weight
    FROM counted
),
state AS MATERIALIZED (
    SELECT
        *,
        -- A memory that no look has found has only clues that were cut. Where these weigh too little, it is not
        -- worth a fifth of the best and would be left out in the end.
        is_cut AND weight_of_cut >= 0.17 * best AS needs_more
    FROM (
        SELECT
            sum(weight) FILTER (WHERE number = whole) AS total,
            bool_or(is_cut) AS is_cut,
            coalesce(sum(weight) FILTER (WHERE is_cut), 0) AS weight_of_cut,
            coalesce(max(weight) FILTER (WHERE NOT is_cut AND found > 0), 0) AS best,
            coalesce(sum(found) FILTER (WHERE NOT is_cut), 0) AS sure,
            max(weight) FILTER (WHERE number <> whole) AS begun,
            $22::text IS NOT NULL AND coalesce(sum(found) FILTER (
                WHERE whole = (SELECT max(whole) FROM counted WHERE number <> whole)
            ), 0) = 0 AS is_begun
        FROM weighed
    ) AS summed
),
pool AS (
    SELECT
        hit.id, hit.pin, hit.created_at, hit.content_tsv,
        CASE
            WHEN weighed.is_cut THEN 0
            WHEN weighed.number <> weighed.whole AND NOT hit.content_tsv @@ weighed.lexeme THEN 0
            ELSE weighed.weight
        END AS weight
    FROM hit
    JOIN weighed ON weighed.number = hit.clue
    UNION ALL
    SELECT
        memory.id, memory.pin, memory.created_at, memory.content_tsv,
        CASE WHEN memory.is_begun THEN state.begun ELSE 0 END
    FROM state
    CROSS JOIN LATERAL memory_plugin.search_further(
        ARRAY(SELECT home.name FROM home), $2, $4, $5, $6,
        CASE WHEN state.is_cut THEN $16::text END, $17::bigint,
        CASE
            WHEN $5 IS NOT NULL OR $6 IS NOT NULL THEN greatest(1000 / cardinality($1), 5)
            WHEN $26::boolean AND state.needs_more AND state.sure < greatest(3 * $3, 60)
            THEN greatest(least(greatest(8 * $3, 160), 400) / cardinality($1), 2)
        END,
        -- The sample begins with what is pinned, where it has some of every namespace.
        CASE
            WHEN state.needs_more AND (4 * cardinality($1) > $18 OR (SELECT bool_or(sample.pin) FROM sample))
            THEN $20
        END,
        CASE WHEN state.is_begun THEN $21 END, $22, $15
    ) AS memory
    WHERE
        state.is_begun
        OR $5 IS NOT NULL OR $6 IS NOT NULL
        OR state.is_cut AND ($16 IS NOT NULL OR state.needs_more)
),
scored AS MATERIALIZED (
    -- Of memories that have the same clues, a shorter one is a little better. Rounded, because a sum depends
    -- on its order, and equals must be equal.
    SELECT
        id, bool_or(pin) AS pin, max(created_at) AS created_at,
        round(
            1e9 * (sum(weight) + max(further)) / (SELECT total FROM state)
            * (1 - 0.002 * ln(1 + max(length)))
        ) / 1e9 AS worth
    FROM (
        SELECT
            id, pin, created_at, weight, length(content_tsv) AS length,
            CASE
                WHEN (SELECT is_cut FROM state) THEN coalesce(
                    (SELECT sum(weighed.weight) FROM weighed WHERE is_cut AND pool.content_tsv @@ lexeme), 0
                )
                ELSE 0
            END AS further
        FROM pool
        OFFSET 0
    ) AS memory
    GROUP BY id
),
best AS MATERIALIZED (
    SELECT *
    FROM scored
    WHERE worth > 0
    ORDER BY
        pin AND worth >= 0.2 * (SELECT max(worth) FROM scored) DESC, worth DESC, created_at DESC, id
    LIMIT greatest(2 * $3, 60)
),
found AS MATERIALIZED (
    SELECT
        stored.id, stored.namespace, stored.content, stored.kind, stored.source, stored.created_at,
        stored.expires_at, stored.propagation, stored.pin,
        memory_plugin.search_score(best.worth, stored.content, stored.content_tsv, $7, $8, $9) AS score
    FROM best
    -- OFFSET 0 keeps this a look-up for each, however small the table was when this was planned.
    CROSS JOIN LATERAL (
        SELECT * FROM memory_plugin.memory_records AS any_stored WHERE any_stored.id = best.id OFFSET 0
    ) AS stored
    UNION ALL
    SELECT part.*, 0.3
    FROM memory_plugin.search_part(
        $23::text, ARRAY(SELECT best.id FROM best), ARRAY(SELECT home.name FROM home), $2, $4, $5, $6
    ) AS part
    WHERE $23 IS NOT NULL AND ($24::boolean OR NOT EXISTS (SELECT FROM best))
)
