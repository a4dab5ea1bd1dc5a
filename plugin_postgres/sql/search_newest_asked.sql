-- Part of a statement: the memories of `home` that match, found by the word index, at most `home.most`.
    CROSS JOIN LATERAL (
        SELECT stored.id, stored.created_at
        FROM memory_plugin.memory_records AS stored
        WHERE
            memory_plugin.search_keys(
                stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
            ) @@ memory_plugin.search_in(
                substr(memory_plugin.search_filter($2, $4), 4)
                || CASE WHEN home.pin THEN ' & ''@.pin''' ELSE '' END,
                ARRAY[memory_plugin.search_mark(home.name)]
            )
            -- IS TRUE hides these from other indexes, which would be read as well, one of them completely.
            AND (stored.namespace = home.name) IS TRUE
            AND (stored.pin = home.pin) IS TRUE
            AND (stored.created_at >= coalesce($5, '-infinity')) IS TRUE
            AND (stored.created_at < coalesce($6, 'infinity')) IS TRUE
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
        LIMIT home.most
    ) AS memory
