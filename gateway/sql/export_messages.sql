SELECT number, role, sender_id, sent_at, content
FROM messages
WHERE session = $1 AND content IS NOT NULL AND number > $2
ORDER BY number
LIMIT 500
