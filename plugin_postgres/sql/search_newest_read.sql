-- Part of a statement: those of the newest `home.depth` memories of `home` that match, at most the limit.
    CROSS JOIN LATERAL (
        SELECT stored.id, stored.created_at
        FROM (
            SELECT *
            FROM memory_plugin.memory_records AS newest
            WHERE
                newest.namespace = home.name
                AND newest.pin = home.pin
                AND newest.created_at >= coalesce($5::timestamptz, '-infinity')
                AND newest.created_at < coalesce($6::timestamptz, 'infinity')
            ORDER BY newest.created_at DESC, newest.id
            LIMIT home.depth
        ) AS stored
        WHERE
            (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
        LIMIT $3
    ) AS memory
