WITH doomed AS (
    SELECT id FROM memory_plugin.memory_records
    WHERE expires_at <= now() - $1::interval
    ORDER BY expires_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM memory_plugin.memory_records AS stored
USING doomed
WHERE stored.id = doomed.id
