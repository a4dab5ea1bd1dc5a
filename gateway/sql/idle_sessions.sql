SELECT id
FROM sessions
WHERE is_buffering AND last_message_at < now() - $1::interval
ORDER BY last_message_at
LIMIT 100
