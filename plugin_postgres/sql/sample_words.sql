-- What a sample of the newest memories of some namespaces tells: how many memories the namespaces have,
-- counting at most $3 of each and 1,600 in all, and the words of each memory of the sample. Of a long memory only
-- the beginning is read: all of it would take longer than the search.
SELECT
    (
        SELECT count(*)
        FROM (
            SELECT FROM unnest($1::text[]) AS home (name)
            CROSS JOIN LATERAL (
                -- The order, and a limit unknown when it is planned, keep PostgreSQL from reading all that the
                -- namespace has before it stops.
                SELECT FROM memory_plugin.memory_records AS stored
                WHERE stored.namespace = home.name
                ORDER BY stored.id
                LIMIT $3::bigint
            ) AS memory
            LIMIT 1600
        ) AS counted
    ) AS stored,
    ARRAY(
        SELECT
            array_to_string(
                tsvector_to_array(
                    CASE
                        WHEN pg_column_size(newest.content_tsv) <= 8192 THEN newest.content_tsv
                        ELSE memory_plugin.search_document(left(newest.content, 1000))
                    END
                ), ' '
            )
        FROM unnest($1) AS home (name)
        CROSS JOIN LATERAL (
            SELECT stored.content, stored.content_tsv
            FROM memory_plugin.memory_records AS stored
            WHERE stored.namespace = home.name
            ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
            LIMIT greatest($2::integer / cardinality($1), 4)
        ) AS newest
    ) AS texts
