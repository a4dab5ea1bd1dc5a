-- What the plugin has to delete now; with a user $1, everything of that user.
SELECT id, session, namespace, memory_id
FROM deletions
WHERE CASE WHEN $1::bigint IS NULL THEN try_at <= now() ELSE owner = $1 END
ORDER BY try_at
LIMIT 200
