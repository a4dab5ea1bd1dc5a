-- Memories with every word of a short query: what a search for a name or a rare word wants. The first column is how
-- many there are, counting at most $5.
--
-- $1 to $4 are the namespaces, kinds, limit and fields of every search. $5 is how many memories are read, and $6 the
-- lookup in the word index. $7 is the word if there is only one, because words that only begin with it count a little
-- less. $8 is the query as a phrase, $9 the query if it is more than words that count, $10 whether it is a question.
WITH home AS MATERIALIZED (
    SELECT name
    FROM memory_plugin.memory_namespaces
    WHERE name = ANY($1::text[]) AND (expires_at IS NULL OR expires_at > now())
),
best AS (
    SELECT *, count(*) OVER () AS number
    FROM (
        -- The columns to sort by come first: they are slow to reach behind texts.
        SELECT
            stored.pin,
            CASE WHEN $7::tsquery IS NULL OR stored.content_tsv @@ $7 THEN 1::double precision ELSE 0.9 END
            * (1 - 0.002 * ln(1 + length(stored.content_tsv))) AS worth,
            stored.created_at, stored.id, stored.namespace, stored.content, stored.kind, stored.source,
            stored.expires_at, stored.propagation, stored.content_tsv
        FROM memory_plugin.memory_records AS stored
        WHERE
            memory_plugin.search_keys(
                stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
            ) @@ $6::tsquery
-- include: search_look
            -- A pinned memory comes first even if it has only some of the words.
            AND (
                $7 IS NOT NULL
                OR NOT EXISTS (
                    SELECT FROM home
                    CROSS JOIN LATERAL (
                        SELECT newest.pin
                        FROM memory_plugin.memory_records AS newest
                        WHERE newest.namespace = home.name
                        ORDER BY newest.pin DESC, newest.created_at DESC, newest.id
                        LIMIT 1
                    ) AS first
                    WHERE first.pin
                )
            )
        LIMIT $5
    ) AS looked
    ORDER BY pin DESC, worth DESC, created_at DESC, id
    LIMIT greatest($3 * 3 / 2, 60)
)
SELECT number, id, namespace, content, kind, source, created_at, expires_at, propagation, pin, score
FROM (
    SELECT *, memory_plugin.search_score(worth, content, content_tsv, $8, $9, $10) AS score FROM best
) AS scored
ORDER BY pin DESC, score DESC, created_at DESC, id
LIMIT $3
