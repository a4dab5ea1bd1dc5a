-- What the plugin is to forget next; of the user $1, all of it.
SELECT id, session, namespace, memory_id
FROM deletions
WHERE CASE WHEN $1::bigint IS NULL THEN try_at <= now() ELSE owner = $1 END
ORDER BY try_at
LIMIT 200
