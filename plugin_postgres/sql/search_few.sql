-- Memories with some words of the query, best first: the answer of search_text in less time, for a query of few clues
-- in the usual case that no memory is pinned and everything is counted. Otherwise the answer is one row of nulls whose
-- `pin` is true; if nothing is found, its `pin` is false. The caller drops what scores less than a fifth of the best.
-- It scores every candidate; search_text only those worth most, so that far down in a long answer the two may differ.
--
-- $1 to $4 are the namespaces, kinds, limit and fields of every search; $5 to $7 are the query as a phrase, the
-- query if it is more than words that count, and whether it is a question.
-- $8 is the one lookup in the word index: all clues (see search_found) but the crowded ones, and pinned memories.
-- At most $9 memories are read, and fewer than $10 may have the same clue.
-- A line with {n} is repeated for each clue; $11 is what each counts. The last word of a query that may be unfinished
-- has its own parameters: $12 is the word, $13 what it counts, $14 words that begin with it, $15 the shorter stems
-- that such a word may have, and $16 the word as text.
-- A line with {crowded} is repeated for each clue that is too common to be looked up; {weight} is its weight, and
-- $17 the sum of these weights. If it is large compared with what was found, the $18 newest memories of each
-- namespace are candidates as well; $19 matches the memories that the other clues have found already.
WITH hit AS MATERIALIZED (
    SELECT
        -- The columns to sort by come first: they are slow to reach behind texts.
        stored.created_at, stored.id, stored.namespace, stored.content, stored.kind, stored.source,
        stored.expires_at, stored.propagation, stored.content_tsv, stored.pin,
        stored.content_tsv @@ {clue}::tsquery AS has_{n},
        stored.content_tsv @@ $12::tsquery AS has_last,
        stored.content_tsv @@ $14::tsquery AS has_begun,
        CASE WHEN stored.content_tsv @@ $15::tsquery THEN memory_plugin.search_begins(stored.content, $16::text) END
            AS has_longer
    FROM memory_plugin.memory_records AS stored
    WHERE
        memory_plugin.search_keys(
            stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
        ) @@ $8::tsquery
        -- IS TRUE hides this from the index of namespaces, which would be read as well.
        AND (
            stored.namespace = ANY(ARRAY(
                SELECT home.name
                FROM memory_plugin.memory_namespaces AS home
                WHERE home.name = ANY($1::text::text[]) AND (home.expires_at IS NULL OR home.expires_at > now())
            ))
        ) IS TRUE
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
        AND ($2::text[] IS NULL OR stored.kind = ANY($2))
        AND ($4::jsonb IS NULL OR stored.propagation @> $4)
    LIMIT $9::bigint
),
counted AS (
    SELECT
        $11::text::double precision[] AS factor,
        count(*) < $9 AND bool_or(pin) IS NOT TRUE AS is_complete,
        count(*) FILTER (WHERE has_{n}) AS found_{n},
        count(*) FILTER (WHERE has_last) AS found_last,
        count(*) FILTER (WHERE has_begun) AS found_begun
    FROM hit
),
weighed AS (
    SELECT
        *,
        memory_plugin.search_weight(factor[{n}], found_{n}) AS weight_{n},
        -- A word and what begins with it are worth the same.
        memory_plugin.search_weight($13, coalesce(nullif(found_last, 0), found_begun)) AS weight_last,
        found_last + found_begun
        + found_{n}
        AS sure,
        greatest(
            found_{n},
            found_last, found_begun
        ) AS most
    FROM counted
    OFFSET 0
),
state AS (
    SELECT
        *,
        is_complete AND most < $10::bigint AS is_usual,
        $16 IS NOT NULL AND found_last + found_begun = 0 AS is_longer,
        $17::double precision
        + weight_{n}
        + weight_last AS total,
        $17 > 0 AND (sure < 60 OR most < $3::bigint) AND $17 >= 0.17 * greatest(
            CASE WHEN found_{n} > 0 THEN weight_{n} END,
            CASE WHEN found_last > 0 THEN weight_last WHEN found_begun > 0 THEN 0.9 * weight_last ELSE 0 END
        ) AS needs_newest
    FROM weighed
    OFFSET 0
)
-- Ids and times are returned as text, which the driver decodes faster.
SELECT
    id::text, namespace, content, kind, source, memory_plugin.search_time(created_at), expires_at, propagation, pin,
    score
FROM (
    SELECT
        memory_plugin.search_score(memory.worth, memory.content, memory.content_tsv, $5, $6, $7) AS score,
        memory.created_at, memory.id, memory.namespace, memory.content, memory.kind, memory.source,
        memory.expires_at, memory.propagation, NOT state.is_usual AS pin
    FROM state
    LEFT JOIN LATERAL (
        SELECT
            *,
            memory_plugin.search_worth(
                weight
                + CASE WHEN content_tsv @@ {crowded}::tsquery THEN {weight}::double precision ELSE 0 END
                , state.total, length(content_tsv)
            ) AS worth
        FROM (
            SELECT
                created_at, id, namespace, content, kind, source, expires_at, propagation, content_tsv,
                -- A memory that has only a shorter stem is worth nothing.
                nullif(
                    CASE WHEN has_{n} THEN state.weight_{n} ELSE 0 END +
                    CASE WHEN has_last THEN state.weight_last ELSE 0 END
                    + CASE
                        WHEN has_begun AND NOT has_last OR state.is_longer AND has_longer
                        THEN 0.9 * state.weight_last
                        ELSE 0
                    END,
                    0
                ) AS weight
            FROM hit
            UNION ALL
            SELECT newest.*, 0
            FROM memory_plugin.search_others(
                $1::text::text[], $2, $4, $18::bigint, $19::tsquery, CASE WHEN state.is_longer THEN $15 END, $16
            ) AS newest
            WHERE state.needs_newest
        ) AS candidate
        OFFSET 0
    ) AS memory ON memory.worth > 0 AND state.is_usual
    ORDER BY score DESC, created_at DESC, id
    LIMIT $3
) AS best
