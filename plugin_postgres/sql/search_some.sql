-- Memories with some words of the query, best first, like search_few, for any number of clues: each is looked up by
-- itself. The answer is one row of nulls, whose `pin` is true, if a memory is pinned or a lookup is cut off. The
-- caller drops what scores less than a fifth of the best.
--
-- $1 to $4 are the namespaces, kinds, limit and fields of every search; $5 to $7 are the query as a phrase, the query
-- if it is more than words, and whether it is a question.
-- A clue is as in search_found. For each one that is looked up, $8 is the tsquery for the index and $9 what it counts;
-- $10 is the bound of each lookup. $11 is the number of the clue for words that begin with the last word, $12 that of
-- the word itself, and $13 the tsquery to check a memory for the former. $14 to $21 are the clues that are not looked
-- up, $22 to $29 their weights, and $30 the sum of these.
-- The remaining parameters are for search_further: $31 finds stems that a word may have that begins with the last
-- word, $32, and $33 is how many of the newest memories of each namespace are candidates as well if the clues that are
-- not looked up weigh enough.
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
            look.number = $11::integer AND NOT stored.content_tsv @@ $13::tsquery AS is_other,
            memory_plugin.search_asked(
                stored.content_tsv, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29
            ) AS asked
        FROM memory_plugin.memory_records AS stored
        WHERE
            memory_plugin.search_keys(
                stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
            ) @@ look.keys
-- include: search_look
        LIMIT $10::bigint
    ) AS memory
),
state AS MATERIALIZED (
    SELECT
        *,
        $30 > 0 AND $30 >= 0.17 * best AND (sure < 60 OR most < $3::bigint) AS needs_newest,
        coalesce(most, 0) < $10 AND (
            -- A limit that is unknown to the planner keeps PostgreSQL from scanning the table instead.
            SELECT true FROM memory_plugin.memory_records AS stored
            WHERE stored.namespace = ANY(ARRAY(SELECT home.name FROM home)) AND stored.pin
            LIMIT (SELECT 1)
        ) IS NULL AS is_usual
    FROM (
        SELECT
            coalesce(sum(weight) FILTER (WHERE number IS DISTINCT FROM $11), 0) + $30::double precision AS total,
            array_agg(weight ORDER BY number) AS weights,
            coalesce(max(weight) FILTER (WHERE found > 0), 0) AS best,
            sum(found)::bigint AS sure,
            max(found) AS most,
            max(weight) FILTER (WHERE number = $11) AS begun,
            $32::text IS NOT NULL AND max(found) FILTER (WHERE number IN ($11, $12)) = 0 AS is_begun
        FROM (
            SELECT
                clue.number, coalesce(looked.found, 0) AS found,
                memory_plugin.search_weight(
                    clue.factor,
                    CASE
                        -- A word and what begins with it are worth the same.
                        WHEN clue.number IN ($11, $12::integer) THEN (
                            SELECT coalesce(
                                nullif(count(*) FILTER (WHERE hit.number = $12), 0),
                                count(*) FILTER (WHERE hit.number = $11)
                            )
                            FROM hit
                        )
                        ELSE coalesce(looked.found, 0)
                    END
                ) AS weight
            FROM unnest($9::text::double precision[]) WITH ORDINALITY AS clue (factor, number)
            LEFT JOIN (SELECT number, count(*) AS found FROM hit GROUP BY number) AS looked USING (number)
            OFFSET 0
        ) AS counted
    ) AS summed
),
best AS (
    SELECT
        id, min(place) AS place, created_at,
        memory_plugin.search_worth(sum(weight) + asked, (SELECT total FROM state), length) AS worth
    FROM (
        SELECT
            id, place, created_at, length, asked,
            CASE WHEN is_other THEN 0 ELSE (SELECT weights FROM state)[number] END AS weight
        FROM hit
        WHERE (SELECT is_usual FROM state)
        UNION ALL
        SELECT
            memory.id, NULL, memory.created_at, length(memory.content_tsv),
            memory_plugin.search_asked(
                memory.content_tsv, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29
            ),
            CASE WHEN memory.is_begun THEN state.begun ELSE 0 END
        FROM state
        CROSS JOIN LATERAL memory_plugin.search_further(
            ARRAY(SELECT home.name FROM home), $2, $4, NULL, NULL, NULL, NULL,
            CASE WHEN state.needs_newest THEN $33::bigint END, NULL,
            CASE WHEN state.is_begun THEN $31::text END, $32, $10
        ) AS memory
        WHERE state.is_usual AND (state.is_begun OR state.needs_newest)
        UNION ALL
        SELECT NULL, NULL, NULL, NULL, 1, 0 FROM state WHERE NOT is_usual
    ) AS pool
    GROUP BY id, created_at, length, asked
    HAVING sum(weight) + asked > 0
    ORDER BY worth DESC, created_at DESC, id
    LIMIT greatest($3 * 3 / 2, 60)
)
SELECT
    found.id, stored.namespace, stored.content, stored.kind, stored.source, found.created_at, stored.expires_at,
    stored.propagation, found.id IS NULL AS pin,
    memory_plugin.search_score(found.worth, stored.content, stored.content_tsv, $5, $6, $7) AS score
FROM (
    SELECT
        id, created_at, worth,
        coalesce(
            place, (SELECT known.ctid FROM memory_plugin.memory_records AS known WHERE known.id = best.id)
        ) AS place
    FROM best
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
