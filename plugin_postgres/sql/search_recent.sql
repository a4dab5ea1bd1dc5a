-- Part of a statement: of the newest memories of a namespace that lie in the span of time, home.newest
-- pinned and home.newest others, those that the filter takes.
SELECT stored.id, stored.pin, stored.created_at, stored.content, stored.content_tsv
FROM (VALUES (true), (false)) AS pinned (pin)
CROSS JOIN LATERAL (
    SELECT *
    FROM memory_plugin.memory_records AS newest
    WHERE
        newest.namespace = home.name
        AND newest.pin = pinned.pin
        AND newest.created_at >= coalesce($5::timestamptz, '-infinity')
        AND newest.created_at < coalesce($6::timestamptz, 'infinity')
    ORDER BY newest.created_at DESC, newest.id
    LIMIT home.newest
) AS stored
WHERE
    (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
