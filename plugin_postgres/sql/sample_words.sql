-- What a sample of the newest memories of some namespaces tells: how many it has, how many the namespaces
-- have in all, counting at most 1,600, and the words of the sample. Long memories are left out: they would
-- take longer to read than the search.
WITH sample AS MATERIALIZED (
    SELECT newest.content_tsv
    FROM unnest($1::text[]) AS home (name)
    CROSS JOIN LATERAL (
        SELECT stored.content_tsv
        FROM memory_plugin.memory_records AS stored
        WHERE stored.namespace = home.name
        ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
        LIMIT greatest($2::integer / cardinality($1), 4)
    ) AS newest
    WHERE pg_column_size(newest.content_tsv) <= 8192
)
SELECT
    (SELECT count(*) FROM sample) AS taken,
    (
        SELECT count(*)
        FROM unnest($1) AS home (name)
        CROSS JOIN LATERAL (
            -- The order, and a limit unknown when it is planned, keep PostgreSQL from reading all that the
            -- namespace has before it stops.
            SELECT FROM memory_plugin.memory_records AS stored
            WHERE stored.namespace = home.name
            ORDER BY stored.id
            LIMIT (SELECT 1600 / cardinality($1))
        ) AS counted
    ) AS stored,
    (SELECT string_agg(array_to_string(tsvector_to_array(content_tsv), ' '), ' ') FROM sample) AS words
