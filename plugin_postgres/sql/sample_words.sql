-- A sample of each namespace: how many memories it has (counting stops at $3), whether one is pinned, and the words
-- of each of the $2 newest. Only the beginning of a long memory is read: reading all of it would take longer than
-- the search.
SELECT
    (
        SELECT count(*)
        FROM (
            -- The order, and a limit that is unknown to the planner, keep PostgreSQL from reading the whole
            -- namespace before it stops.
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
