-- Part of a statement: `found`, the memories that have words of the query $7.
--
-- A memory is worth the sum of what the terms are worth that it has, and a term is worth the more the
-- fewer memories have it: ln(1 + 1000 / number). The looks for single terms count them; each look is
-- bounded, so a term that is very common counts as one of some hundred.
--
-- A short query is first asked for memories that have all of it; where these are enough, that is all.
-- Where a look was cut by its bound, it says little about a memory that it did not see. So a memory
-- with a rarer term is asked again for each such term; and pinned memories, and the newest
-- where common terms are all there is, are looked through as well.
asked AS MATERIALIZED (
    SELECT
        *,
        memory_plugin.search_filter($2::text[], $4::jsonb) AS filter,
        array_to_string(terms, ' | ') AS any_term
    FROM memory_plugin.search_asked($7)
),
home AS MATERIALIZED (
    SELECT
        name,
        memory_plugin.search_mark(name) AS mark,
        (row_number() OVER () - 1) / 16 AS part,
        count(*) OVER () AS homes,
        greatest(1000 / count(*) OVER (), 5) AS newest
    FROM memory_plugin.memory_namespaces
    WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > now())
),
-- One look serves 16 namespaces.
part AS MATERIALIZED (
    SELECT
        part,
        array_agg(name) AS names,
        array_agg(mark) AS marks,
        greatest(600 / count(*) OVER (), $3) AS all_terms,
        greatest(200 / count(*) OVER (), 10) AS one_term,
        greatest(8000 / max(homes), 4) AS terms
    FROM home
    GROUP BY part
),
with_all AS MATERIALIZED (
    SELECT look.part, look.bound, memory.*
    FROM (
        SELECT
            part.part, part.names, part.all_terms AS bound,
            memory_plugin.search_in(
                array_to_string(asked.terms, ' & ') || asked.filter, part.marks
            ) AS keys
        FROM asked
        CROSS JOIN part
        WHERE asked.size BETWEEN 1 AND 4
    ) AS look
    CROSS JOIN LATERAL (
-- include: search_probe
    ) AS memory
),
enough AS MATERIALIZED (
    SELECT size BETWEEN 1 AND 4 AND (SELECT count(*) FROM with_all) >= $3 AS enough FROM asked
),
with_one AS MATERIALIZED (
    SELECT look.term, look.share, look.part, look.bound, memory.*
    FROM (
        SELECT
            wanted.term, wanted.share, part.part, part.names, part.one_term AS bound,
            memory_plugin.search_in(wanted.template || asked.filter, part.marks) AS keys
        FROM asked
        CROSS JOIN part
        CROSS JOIN LATERAL (
            SELECT place::integer AS term, template, 1::double precision AS share
            FROM unnest(asked.terms[:part.terms]) WITH ORDINALITY AS single (template, place)
            WHERE asked.size > 1
            UNION ALL
            -- A word that only begins with the last one counts a little less.
            SELECT asked.last_term, asked.begun, 0.9::double precision
            WHERE asked.begun IS NOT NULL
        ) AS wanted
        WHERE NOT (SELECT enough FROM enough)
    ) AS look
    CROSS JOIN LATERAL (
-- include: search_probe
    ) AS memory
),
-- How many memories each look found, and whether there may be more.
look AS MATERIALIZED (
    SELECT term, share, sum(found)::integer AS found, bool_or(found >= bound) AS cut
    FROM (
        SELECT term, share, part, bound, count(*) AS found
        FROM with_one
        GROUP BY term, share, part, bound
        UNION ALL
        SELECT every.term, 1::double precision, part, bound, count(*)
        FROM with_all
        CROSS JOIN (SELECT size, generate_series(1, size) AS term FROM asked) AS every
        WHERE every.size = 1 OR (SELECT enough FROM enough)
        GROUP BY every.term, part, bound
    ) AS counted
    GROUP BY term, share
),
-- The looks that did not see every memory, or, where memories with all terms are enough, were not made.
crowded AS MATERIALIZED (
    SELECT
        term, share, cut,
        CASE WHEN share = 1 THEN asked.terms[term] ELSE asked.begun END AS template
    FROM look
    CROSS JOIN asked
    WHERE cut OR (asked.size > 1 AND (SELECT enough FROM enough))
),
uncrowded AS MATERIALIZED (
    SELECT string_agg(asked.terms[term], ' | ') AS any_term
    FROM look
    CROSS JOIN asked
    WHERE share = 1 AND NOT cut AND NOT (SELECT enough FROM enough)
),
again AS MATERIALIZED (
    SELECT look.term, look.share, memory.*
    FROM (
        SELECT
            crowded.term, crowded.share, part.names, part.all_terms AS bound,
            memory_plugin.search_in(
                format(
                    '%s & (%s)%s',
                    crowded.template,
                    concat_ws(' | ', '''@.pin''', uncrowded.any_term),
                    asked.filter
                ),
                part.marks
            ) AS keys
        FROM asked
        CROSS JOIN part
        CROSS JOIN crowded
        CROSS JOIN uncrowded
    ) AS look
    CROSS JOIN LATERAL (
-- include: search_probe
    ) AS memory
),
recent AS MATERIALIZED (
    SELECT wanted.term, wanted.share, memory.id, memory.pin, memory.created_at, memory.length
    FROM (
        SELECT newest.*, length(newest.content_tsv) AS length
        FROM home
        CROSS JOIN LATERAL (
-- include: search_recent
        ) AS newest
        WHERE
            (SELECT count(*) FROM crowded WHERE cut AND share = 1) > 1
            OR ((SELECT any_term FROM uncrowded) IS NULL AND EXISTS (SELECT FROM crowded WHERE cut))
            OR $5 IS NOT NULL
            OR $6 IS NOT NULL
    ) AS memory
    JOIN (
        SELECT place::integer AS term, 1::double precision AS share, replace(template, '@', '')::tsquery AS lexemes
        FROM asked
        CROSS JOIN LATERAL unnest(asked.terms) WITH ORDINALITY AS single (template, place)
        UNION ALL
        SELECT last_term, 0.9::double precision, replace(begun, '@', '')::tsquery
        FROM asked
        WHERE begun IS NOT NULL
    ) AS wanted ON memory.content_tsv @@ wanted.lexemes
),
-- Nothing begins with the last word, but what it is the beginning of may have a shorter stem.
begun AS MATERIALIZED (
    SELECT look.term, 0.9::double precision AS share, memory.*
    FROM (
        SELECT
            asked.last_term AS term, asked.last_word, part.names, part.one_term AS bound,
            memory_plugin.search_in(format('(%s)%s', asked.shorter, asked.filter), part.marks) AS keys
        FROM asked
        CROSS JOIN part
        WHERE
            asked.shorter IS NOT NULL
            AND NOT EXISTS (SELECT FROM look WHERE look.term = asked.last_term)
    ) AS look
    CROSS JOIN LATERAL (
-- include: search_probe
    ) AS memory
    JOIN memory_plugin.memory_records AS stored ON stored.id = memory.id
    WHERE strpos(
        ' ' || memory_plugin.search_words(memory_plugin.search_fold(stored.content)),
        ' ' || look.last_word
    ) > 0
),
weight AS MATERIALIZED (
    SELECT
        place::integer AS term,
        factor * ln(1 + 1000 / coalesce(
            (SELECT found FROM look WHERE term = place ORDER BY share DESC LIMIT 1), 1
        )::double precision) AS weight
    FROM asked
    CROSS JOIN LATERAL unnest(asked.factors) WITH ORDINALITY AS named (factor, place)
),
scored AS MATERIALIZED (
    -- Of memories that have the same terms, a shorter one is a little better.
    SELECT
        id,
        bool_or(pin) AS pin,
        max(created_at) AS created_at,
        sum(share * weight) / (SELECT sum(weight) FROM weight) * (1 - 0.002 * ln(1 + max(length)))
            AS score
    FROM (
        SELECT
            id, term, max(share) AS share, bool_or(pin) AS pin, max(created_at) AS created_at,
            max(length) AS length
        FROM (
            SELECT every.term, 1::double precision AS share, id, pin, created_at, length
            FROM with_all
            CROSS JOIN (SELECT generate_series(1, size) AS term FROM asked) AS every
            UNION ALL
            SELECT term, share, id, pin, created_at, length FROM with_one
            UNION ALL
            TABLE again
            UNION ALL
            TABLE recent
            UNION ALL
            TABLE begun
        ) AS hit
        GROUP BY id, term
    ) AS had
    JOIN weight USING (term)
    GROUP BY id
),
found AS (
    SELECT
        best.id, best.pin, best.created_at,
        (
            -- A question is answered rather by what is not a question.
            best.score * CASE WHEN asked.is_question AND stored.content LIKE '%?' THEN 0.9 ELSE 1 END
            + CASE
                WHEN asked.phrase IS NOT NULL AND NOT stored.content_tsv @@ asked.phrase THEN 0
                WHEN strpos(memory_plugin.search_fold(stored.content), asked.literal) > 0 THEN 0.04
                WHEN asked.phrase IS NOT NULL THEN 0.02
                ELSE 0
            END
        ) / 1.04 AS score
    FROM asked
    CROSS JOIN (
        SELECT *
        FROM scored
        ORDER BY
            pin AND score >= 0.2 * (SELECT max(score) FROM scored) DESC,
            score DESC, created_at DESC, id
        LIMIT greatest(6 * $3, 60)
    ) AS best
    JOIN memory_plugin.memory_records AS stored ON stored.id = best.id
    UNION ALL
    -- Where no word was found, the query may be a part of one, or no word at all; and function words
    -- are in the index for memories of few words only.
    SELECT memory.id, memory.pin, memory.created_at, 0.3
    FROM asked
    CROSS JOIN (
        SELECT name, 3 * newest AS newest
        FROM home
        WHERE (
            SELECT
                folded <> ''
                AND (only_function OR (size < 2 AND NOT EXISTS (SELECT FROM scored)))
            FROM asked
        )
    ) AS home
    CROSS JOIN LATERAL (
-- include: search_recent
    ) AS memory
    WHERE
        strpos(memory_plugin.search_fold(memory.content), asked.folded) > 0
        AND NOT EXISTS (SELECT FROM scored WHERE scored.id = memory.id)
)
