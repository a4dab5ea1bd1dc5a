-- A page of memories; behind the one with which it reaches $4 bytes they come without their content.
SELECT
    id, namespace, CASE WHEN fits THEN content END AS content, kind, source, created_at,
    expires_at, CASE WHEN fits THEN propagation END AS propagation, pin
FROM (
    SELECT
        *,
        coalesce(sum(octet_length(content) + coalesce(pg_column_size(propagation), 0)) OVER (
            ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) < $4 AS fits
    FROM (
-- Part of a statement: one page in id order, the next of each namespace off its index, then the first
-- of them all.
SELECT
    memory.id, memory.namespace, memory.content, memory.kind, memory.source, memory.created_at,
    memory.expires_at, memory.propagation, memory.pin
FROM memory_plugin.memory_namespaces AS home
CROSS JOIN LATERAL (
    SELECT *
    FROM memory_plugin.memory_records AS stored
    WHERE
        stored.namespace = home.name
        AND stored.id >= $2
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
    ORDER BY stored.id
    LIMIT $3
) AS memory
WHERE home.name = ANY($1::text[]) AND (home.expires_at IS NULL OR home.expires_at > now())
ORDER BY memory.id
LIMIT $3

    ) AS page
) AS weighed
ORDER BY id
