-- A sample of each of some namespaces: how many memories it has, counting at most $3, whether one is pinned, and
-- the words of each of the $2 newest. Of a long memory only the beginning is read: all of it would take longer
-- than the search.
SELECT
    (
        SELECT count(*)
        FROM (
            -- The order, and a limit unknown when it is planned, keep PostgreSQL from reading all that the
            -- namespace has before it stops.
            SELECT FROM memory_plugin.memory_records AS stored
            WHERE stored.namespace = home.name
            ORDER BY stored.id
            LIMIT $3::bigint
        ) AS counted
    ) AS stored,
    coalesce(sample.is_pinned, false),
    coalesce(sample.texts, '{}')
FROM unnest($1::text[]) WITH ORDINALITY AS home (name, place)
CROSS JOIN LATERAL (
    SELECT
        bool_or(newest.pin) AS is_pinned,
        array_agg(
            array_to_string(
                tsvector_to_array(
                    CASE
                        WHEN pg_column_size(newest.content_tsv) <= 8192 THEN newest.content_tsv
                        ELSE memory_plugin.search_document(left(newest.content, 1000))
                    END
                ), ' '
            )
        ) AS texts
    FROM (
        SELECT stored.pin, stored.content, stored.content_tsv
        FROM memory_plugin.memory_records AS stored
        WHERE stored.namespace = home.name
        ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
        LIMIT $2::bigint
    ) AS newest
) AS sample
ORDER BY home.place
