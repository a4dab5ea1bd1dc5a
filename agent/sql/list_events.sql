SELECT name, payload, context_visible, created_at
FROM events
WHERE session_id = :session_id
ORDER BY id
