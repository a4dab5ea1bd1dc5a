-- Delete some rows of an expired namespace. The lock makes a PUT or PATCH that brings the
-- namespace back wait for this batch, and makes the next batch see that it is back.
WITH expired AS (
    SELECT name FROM memory_plugin.memory_namespaces
    WHERE name = $1 AND expires_at <= now() - $2::interval
    FOR SHARE
),
doomed AS (
    SELECT stored.id
    FROM memory_plugin.memory_records AS stored
    WHERE stored.namespace = (SELECT name FROM expired)
    ORDER BY stored.id
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)
DELETE FROM memory_plugin.memory_records AS stored
USING doomed
WHERE stored.id = doomed.id
