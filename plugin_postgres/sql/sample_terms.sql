-- How many of the newest memories of some namespaces have each term; how many memories that sample has; and
-- how many the namespaces have in all, counting at most 50 of each.
WITH sample AS MATERIALIZED (
    SELECT newest.content_tsv
    FROM unnest($1::text[]) AS home (name)
    CROSS JOIN LATERAL (
        SELECT stored.content_tsv
        FROM memory_plugin.memory_records AS stored
        WHERE stored.namespace = home.name
        ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
        LIMIT 4
    ) AS newest
)
SELECT
    (SELECT count(*) FROM sample) AS taken,
    (
        SELECT count(*)
        FROM unnest($1) AS home (name)
        CROSS JOIN LATERAL (
            SELECT FROM memory_plugin.memory_records AS stored
            WHERE stored.namespace = home.name
            ORDER BY stored.id
            LIMIT 50
        ) AS counted
    ) AS stored,
    (SELECT count(*) FROM sample WHERE content_tsv @@ term.lexeme) AS seen
FROM unnest($2::tsquery[]) WITH ORDINALITY AS term (lexeme, place)
ORDER BY term.place
