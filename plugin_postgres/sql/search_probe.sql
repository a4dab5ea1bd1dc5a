-- Part of a statement: at most look.bound memories that the index of words finds by look.keys. Of those
-- that a span of time refuses, no more than 2,000 are read; search_recent finds the others.
SELECT probed.id, probed.pin, probed.created_at, probed.length
FROM (
    SELECT stored.id, stored.pin, stored.created_at, length(stored.content_tsv) AS length
    FROM memory_plugin.memory_records AS stored
    WHERE
        memory_plugin.search_keys(
            stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
        ) @@ look.keys
        -- IS TRUE hides this from the index of namespaces, which would be read besides.
        AND (stored.namespace = ANY(look.names)) IS TRUE
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
-- include: search_filter
    LIMIT CASE WHEN $5::timestamptz IS NULL AND $6::timestamptz IS NULL THEN look.bound ELSE 2000 END
) AS probed
WHERE ($5 IS NULL OR probed.created_at >= $5) AND ($6 IS NULL OR probed.created_at < $6)
LIMIT look.bound
