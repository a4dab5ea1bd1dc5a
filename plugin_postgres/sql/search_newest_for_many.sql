-- Several searches for the newest at once: the rows of each with its number, best first.
--
-- $1 are the namespaces of all searches, one after the other. For each search, $2 and $3 are the positions of its
-- first and last namespace, and $4 is its limit.
SELECT
    asked.number, memory.id, memory.namespace, memory.content, memory.kind, memory.source,
    memory.created_at, memory.expires_at, memory.propagation, memory.pin
FROM
    unnest($2::integer[], $3::integer[], $4::integer[])
    WITH ORDINALITY AS asked (first, last, size, number)
CROSS JOIN LATERAL (
    SELECT newest.*
    FROM unnest(($1::text[])[asked.first:asked.last]) AS named
    CROSS JOIN LATERAL (
        SELECT *
        FROM memory_plugin.memory_records AS stored
        WHERE
            stored.namespace = (
                SELECT home.name
                FROM memory_plugin.memory_namespaces AS home
                WHERE home.name = named AND (home.expires_at IS NULL OR home.expires_at > now())
            )
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
        ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
        LIMIT asked.size
    ) AS newest
    ORDER BY newest.pin DESC, newest.created_at DESC, newest.id
    LIMIT asked.size
) AS memory
ORDER BY asked.number, memory.pin DESC, memory.created_at DESC, memory.id
