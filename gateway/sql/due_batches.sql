SELECT session
FROM batches
WHERE try_at <= now()
GROUP BY session
ORDER BY min(try_at)
LIMIT $1
