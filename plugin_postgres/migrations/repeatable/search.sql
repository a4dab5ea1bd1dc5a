-- Which memories have the words of a query, and what they are worth. How a query is understood stands in
-- ranking.sql; in words, both are explained in docs/memory-plugins/search.md.
--
-- A memory is worth the sum of what the terms are worth that it has, and a term is worth the more the
-- fewer memories have it: ln(1 + 1000 / number). The looks for single terms count them.
--
-- No look is without a bound. PostgreSQL reads all that the index has of a term before it applies one, so
-- a term that a sample shows to be crowded is not looked up; memories found by other terms, the newest
-- and the pinned ones are asked for it themselves. So are they for a term whose look was cut.

-- At most `bound` memories that the index of words finds by `keys`. Of those that a span of time refuses,
-- no more than 2,000 are read; search_newest finds the others. The planner puts the body of this in place
-- of the call.
CREATE OR REPLACE FUNCTION memory_plugin.search_look(
    keys tsquery, homes text[], kinds text[], fields jsonb, since timestamptz, until timestamptz, bound bigint
) RETURNS TABLE (id uuid, pin boolean, created_at timestamptz, content_tsv tsvector)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT probed.id, probed.pin, probed.created_at, probed.content_tsv
    FROM (
        SELECT stored.id, stored.pin, stored.created_at, stored.content_tsv
        FROM memory_plugin.memory_records AS stored
        WHERE
            memory_plugin.search_keys(
                stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
            ) @@ keys
            -- IS TRUE hides this from the index of namespaces, which would be read besides.
            AND (stored.namespace = ANY(homes)) IS TRUE
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
            AND (kinds IS NULL OR stored.kind = ANY(kinds))
            AND (fields IS NULL OR stored.propagation @> fields)
        LIMIT CASE WHEN since IS NULL AND until IS NULL THEN bound ELSE 2000 END
    ) AS probed
    WHERE (since IS NULL OR probed.created_at >= since) AND (until IS NULL OR probed.created_at < until)
    LIMIT bound
$$;

-- Of the newest memories of a namespace in the span of time, `newest` pinned and `newest` others, those
-- that the filter takes. This, too, becomes a part of the statement that calls it.
CREATE OR REPLACE FUNCTION memory_plugin.search_newest(
    home text, kinds text[], fields jsonb, since timestamptz, until timestamptz, newest bigint
) RETURNS TABLE (id uuid, pin boolean, created_at timestamptz, content_tsv tsvector, content text)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT stored.id, stored.pin, stored.created_at, stored.content_tsv, stored.content
    FROM (VALUES (true), (false)) AS pinned (pin)
    CROSS JOIN LATERAL (
        SELECT *
        FROM memory_plugin.memory_records AS recent
        WHERE
            recent.namespace = home
            AND recent.pin = pinned.pin
            AND recent.created_at >= coalesce(since, '-infinity')
            AND recent.created_at < coalesce(until, 'infinity')
        ORDER BY recent.created_at DESC, recent.id
        LIMIT newest
    ) AS stored
    WHERE
        (stored.expires_at IS NULL OR stored.expires_at > now())
        AND (kinds IS NULL OR stored.kind = ANY(kinds))
        AND (fields IS NULL OR stored.propagation @> fields)
$$;

-- About how many memories have each term: by about a hundred of the newest, and at most 800 for up to 16
-- namespaces, because a term of so many is crowded anyway. Null where there are too few memories to tell.
CREATE OR REPLACE FUNCTION memory_plugin.search_estimates(homes text[], lexemes tsquery[])
RETURNS integer[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    spaces integer := cardinality(homes);
    taken integer;
    numbers integer[];      -- how many of those taken have each term
    rows integer := 0;      -- how many memories there are
    most integer := 800;
BEGIN
    WITH sample AS MATERIALIZED (
        SELECT newest.content_tsv
        FROM unnest(homes[1 : 16]) AS home
        CROSS JOIN LATERAL (
            SELECT stored.content_tsv
            FROM memory_plugin.memory_records AS stored
            WHERE stored.namespace = home
            ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
            LIMIT greatest(96 / spaces, 6)
        ) AS newest
    )
    SELECT
        (SELECT count(*) FROM sample),
        array_agg((SELECT count(*) FROM sample WHERE content_tsv @@ lexeme) ORDER BY place)
    INTO taken, numbers
    FROM unnest(lexemes) WITH ORDINALITY AS term (lexeme, place);
    IF spaces > 16 AND taken < 48 THEN
        RETURN NULL;
    ELSIF spaces > 16 THEN
        rows := taken * spaces / 16;
    ELSIF taken >= 48 AND 4 * (SELECT max(number) FROM unnest(numbers) AS number) >= taken THEN
        SELECT count(*) INTO rows
        FROM (
            SELECT
            FROM unnest(homes) AS home
            CROSS JOIN LATERAL (
                -- The order, and a limit unknown when it is planned, keep PostgreSQL from reading all that
                -- the namespace has before it stops.
                SELECT FROM memory_plugin.memory_records AS stored
                WHERE stored.namespace = home
                ORDER BY stored.id
                LIMIT most
            ) AS memory
            LIMIT most
        ) AS counted;
    END IF;
    RETURN ARRAY(
        SELECT number * rows / greatest(taken, 1)
        FROM unnest(numbers) WITH ORDINALITY AS term (number, place)
        ORDER BY place
    );
END
$$;

-- The memories of the namespaces that have words of the query, with what they are worth, between 0 and 1.
CREATE OR REPLACE FUNCTION memory_plugin.search_found(
    namespaces text[], kinds text[], wanted integer, fields jsonb,
    since timestamptz, until timestamptz, query text
) RETURNS TABLE (id uuid, pin boolean, created_at timestamptz, score double precision)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 60
AS $$
#variable_conflict use_column
DECLARE
    asked record;
    filter text := memory_plugin.search_filter(kinds, fields);
    in_span boolean := since IS NOT NULL OR until IS NOT NULL;
    homes text[];
    marks text[];
    span CONSTANT integer := 32;    -- how many namespaces one look serves: with more, each costs more
    parts integer;
    all_bound bigint;       -- of a look for all terms
    one_bound bigint;       -- of a look for one term
    broad boolean;          -- so many namespaces that each look counts
    every text;             -- template: all terms, where they are few
    pinned text[];          -- the namespaces with pinned memories
    lexemes tsquery[];      -- the terms, for content_tsv
    estimates integer[];    -- about how many memories have each
    looked boolean[];       -- whether it is looked up
    ids uuid[];
    worths double precision[];
BEGIN
    asked := memory_plugin.search_asked(query);
    SELECT array_agg(home.name), array_agg(memory_plugin.search_mark(home.name))
    INTO homes, marks
    FROM memory_plugin.memory_namespaces AS home
    WHERE home.name = ANY(namespaces) AND (home.expires_at IS NULL OR home.expires_at > now());
    IF homes IS NULL OR asked.folded = '' THEN
        RETURN;
    END IF;
    parts := (cardinality(homes) + span - 1) / span;
    all_bound := greatest(600 / parts, wanted);
    one_bound := greatest(200 / parts, 40);
    broad := cardinality(homes) > 2 * span;
    IF asked.size > 0 THEN
        pinned := ARRAY(
            SELECT home
            FROM unnest(homes) AS home
            CROSS JOIN LATERAL (
                SELECT stored.pin
                FROM memory_plugin.memory_records AS stored
                WHERE stored.namespace = home
                ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
                LIMIT 1
            ) AS first
            WHERE first.pin
        );
    END IF;

    -- A short query is first asked for memories that have all of it; where these are enough, that is all.
    IF asked.size BETWEEN 1 AND 4 THEN
        every := array_to_string(asked.terms, ' & ');
        IF pinned = '{}' AND NOT in_span AND NOT broad THEN
            SELECT array_agg(best.id), array_agg(best.worth)
            INTO ids, worths
            FROM (
                SELECT
                    memory.id, 1 - 0.002 * ln(1 + length(memory.content_tsv)) AS worth,
                    count(*) OVER () AS number
                FROM generate_series(1, cardinality(homes), span) AS first
                CROSS JOIN LATERAL (
                    SELECT
                        homes[first : first + span - 1] AS names,
                        memory_plugin.search_in(every || filter, marks[first : first + span - 1]) AS keys
                    OFFSET 0
                ) AS part
                CROSS JOIN LATERAL memory_plugin.search_look(
                    part.keys, part.names, kinds, fields, NULL, NULL, all_bound
                ) AS memory
                ORDER BY worth DESC, memory.created_at DESC, memory.id
                LIMIT greatest(2 * wanted, 60)
            ) AS best
            WHERE best.number >= wanted AND best.number < all_bound;
        END IF;
    END IF;

    IF asked.size > 0 AND ids IS NULL THEN
        lexemes := ARRAY(SELECT replace(term, '@', '')::tsquery FROM unnest(asked.terms) AS term);
        IF asked.size > 1 THEN
            estimates := memory_plugin.search_estimates(homes, lexemes);
        END IF;
        IF estimates IS NULL THEN
            estimates := array_fill(0, ARRAY[asked.size]);
            broad := false;
        END IF;
        -- Of many namespaces, the three terms that seem the rarest are enough, unless they find little.
        looked := ARRAY(
            SELECT
                CASE
                    WHEN broad THEN row_number() OVER (ORDER BY estimate, char_length(term) DESC) <= 3
                    ELSE estimate < one_bound * parts
                END
            FROM unnest(asked.terms, estimates) WITH ORDINALITY AS single (term, estimate, place)
            ORDER BY place
        );
        LOOP
            WITH look AS MATERIALIZED (
                SELECT
                    row_number() OVER () AS number, listed.term, listed.share, part.names, part.keys,
                    CASE WHEN listed.term = 0 OR asked.size = 1 THEN all_bound ELSE one_bound END AS bound
                FROM (
                    SELECT place::integer AS term, template, 1::double precision AS share
                    FROM unnest(asked.terms, looked) WITH ORDINALITY AS single (template, looked, place)
                    WHERE single.looked
                    UNION ALL
                    -- A word that only begins with the last one counts a little less.
                    SELECT asked.last_term, asked.begun, 0.9
                    WHERE asked.begun IS NOT NULL AND NOT broad AND looked[asked.last_term]
                    UNION ALL
                    SELECT 0, every, 1
                    WHERE asked.size BETWEEN 2 AND 4 AND NOT broad
                ) AS listed
                CROSS JOIN LATERAL (
                    SELECT
                        homes[first : first + span - 1] AS names,
                        memory_plugin.search_in(
                            listed.template || filter, marks[first : first + span - 1]
                        ) AS keys
                    FROM generate_series(1, cardinality(homes), span) AS first
                ) AS part
            ),
            hit AS MATERIALIZED (
                SELECT look.number, look.term, look.share, look.bound, memory.*
                FROM look
                CROSS JOIN LATERAL memory_plugin.search_look(
                    look.keys, look.names, kinds, fields, since, until, look.bound
                ) AS memory
            ),
            -- How many memories each term has, and whether there may be more.
            counted AS MATERIALIZED (
                SELECT term, share, sum(found)::integer AS found, bool_or(found >= bound) OR in_span AS cut
                FROM (
                    SELECT term, share, bound, count(*) AS found FROM hit GROUP BY number, term, share, bound
                ) AS one
                WHERE term > 0
                GROUP BY term, share
                UNION ALL
                SELECT place::integer, 1, least(greatest(estimate, 1), parts * one_bound)::integer, true
                FROM unnest(estimates, looked) WITH ORDINALITY AS skipped (estimate, looked, place)
                WHERE NOT skipped.looked
            ),
            -- The terms that a memory must be asked for, because no look saw all that have them.
            crowded AS MATERIALIZED (
                SELECT term, share, template, replace(template, '@', '')::tsquery AS lexeme
                FROM (
                    SELECT
                        term, share,
                        CASE WHEN share = 1 THEN asked.terms[term] ELSE asked.begun END AS template
                    FROM counted
                    WHERE cut
                ) AS cut
            ),
            candidate AS MATERIALIZED (
                SELECT id, pin, created_at, content_tsv FROM hit WHERE EXISTS (SELECT FROM crowded)
                UNION ALL
                SELECT memory.id, memory.pin, memory.created_at, memory.content_tsv
                FROM unnest(homes) AS home
                CROSS JOIN LATERAL memory_plugin.search_newest(
                    home, kinds, fields, since, until,
                    CASE
                        WHEN in_span THEN greatest(1000 / cardinality(homes), 5)
                        ELSE greatest(400 / cardinality(homes), 2)
                    END
                ) AS memory
                WHERE
                    in_span
                    OR (
                        cardinality(homes) <= 200
                        AND EXISTS (SELECT FROM crowded)
                        AND (SELECT coalesce(sum(found), 0) FROM counted WHERE NOT cut)
                            < greatest(3 * wanted, 60)
                    )
                UNION ALL
                SELECT memory.*
                FROM (
                    SELECT
                        part.names,
                        memory_plugin.search_in(
                            format('''@.pin'' & (%s)%s', string_agg(crowded.template, ' | '), filter),
                            ARRAY(SELECT memory_plugin.search_mark(name) FROM unnest(part.names) AS name)
                        ) AS keys
                    FROM generate_series(1, cardinality(pinned), span) AS first
                    CROSS JOIN LATERAL (SELECT pinned[first : first + span - 1] AS names) AS part
                    CROSS JOIN crowded
                    GROUP BY part.names
                ) AS part
                CROSS JOIN LATERAL memory_plugin.search_look(
                    part.keys, part.names, kinds, fields, since, until, all_bound
                ) AS memory
            ),
            -- Nothing begins with the last word, but what it is the beginning of may have a shorter stem.
            begun AS MATERIALIZED (
                SELECT memory.*
                FROM generate_series(1, cardinality(homes), span) AS first
                CROSS JOIN LATERAL (
                    SELECT
                        homes[first : first + span - 1] AS names,
                        memory_plugin.search_in(
                            format('(%s)%s', asked.shorter, filter), marks[first : first + span - 1]
                        ) AS keys
                    OFFSET 0
                ) AS part
                CROSS JOIN LATERAL memory_plugin.search_look(
                    part.keys, part.names, kinds, fields, since, until, one_bound
                ) AS memory
                JOIN memory_plugin.memory_records AS stored ON stored.id = memory.id
                WHERE
                    asked.shorter IS NOT NULL
                    AND cardinality(homes) <= 200
                    AND NOT EXISTS (SELECT FROM counted WHERE term = asked.last_term)
                    AND strpos(
                        ' ' || memory_plugin.search_words(memory_plugin.search_fold(stored.content)),
                        ' ' || asked.last_word
                    ) > 0
            ),
            weight AS MATERIALIZED (
                SELECT
                    place::integer AS term,
                    factor * ln(1 + 1000 / coalesce(
                        (SELECT found FROM counted WHERE term = place ORDER BY share DESC LIMIT 1), 1
                    )::double precision) AS weight
                FROM unnest(asked.factors) WITH ORDINALITY AS named (factor, place)
            ),
            scored AS MATERIALIZED (
                -- Of memories that have the same terms, a shorter one is a little better. Rounded, because a sum
                -- depends on its order, and equals must be equal.
                SELECT
                    id,
                    bool_or(pin) AS pin,
                    max(created_at) AS created_at,
                    round(
                        1e9 * sum(share * weight) / (SELECT sum(weight) FROM weight)
                        * (1 - 0.002 * ln(1 + max(length)))
                    ) / 1e9 AS worth
                FROM (
                    SELECT
                        id, term, max(share) AS share, bool_or(pin) AS pin, max(created_at) AS created_at,
                        max(length) AS length
                    FROM (
                        SELECT term, share, id, pin, created_at, length(content_tsv) FROM hit WHERE term > 0
                        UNION ALL
                        SELECT place, 1, id, pin, created_at, length(content_tsv)
                        FROM hit
                        CROSS JOIN generate_series(1, asked.size) AS place
                        WHERE term = 0
                        UNION ALL
                        SELECT asked.last_term, 0.9, id, pin, created_at, length(content_tsv) FROM begun
                        UNION ALL
                        SELECT crowded.term, crowded.share, id, pin, created_at, length(content_tsv)
                        FROM candidate
                        JOIN crowded ON candidate.content_tsv @@ crowded.lexeme
                    ) AS hit (term, share, id, pin, created_at, length)
                    GROUP BY id, term
                ) AS had
                JOIN weight USING (term)
                GROUP BY id
            )
            SELECT array_agg(best.id), array_agg(best.worth)
            INTO ids, worths
            FROM (
                SELECT *
                FROM scored
                ORDER BY
                    pin AND worth >= 0.2 * (SELECT max(worth) FROM scored) DESC,
                    worth DESC, created_at DESC, id
                LIMIT greatest(2 * wanted, 60)
            ) AS best;
            EXIT WHEN NOT broad OR cardinality(ids) >= wanted;
            -- They found little, so the others are looked up as well.
            broad := false;
            looked := array_fill(true, ARRAY[asked.size]);
        END LOOP;
    END IF;

    RETURN QUERY
    SELECT
        stored.id, stored.pin, stored.created_at,
        (
            -- A question is answered rather by what is not a question.
            best.worth * CASE WHEN asked.is_question AND stored.content LIKE '%?' THEN 0.9 ELSE 1 END
            + CASE
                WHEN asked.phrase IS NOT NULL AND NOT stored.content_tsv @@ asked.phrase THEN 0
                WHEN asked.literal IS NOT NULL
                    AND strpos(memory_plugin.search_fold(stored.content), asked.literal) > 0 THEN 0.04
                WHEN asked.phrase IS NOT NULL THEN 0.02
                ELSE 0
            END
        ) / 1.04
    FROM unnest(ids, worths) AS best (id, worth)
    JOIN memory_plugin.memory_records AS stored ON stored.id = best.id;

    -- Where no word was found, the query may be a part of one, or no word at all; and function words are in
    -- the index for memories of few words only.
    IF asked.only_function OR (asked.size < 2 AND ids IS NULL) THEN
        RETURN QUERY
        SELECT memory.id, memory.pin, memory.created_at, 0.3::double precision
        FROM unnest(homes) AS home
        CROSS JOIN LATERAL memory_plugin.search_newest(
            home, kinds, fields, since, until, greatest(3000 / cardinality(homes), 2)
        ) AS memory
        WHERE
            strpos(memory_plugin.search_fold(memory.content), asked.folded) > 0
            AND memory.id <> ALL(coalesce(ids, '{}'));
    END IF;
END
$$;
