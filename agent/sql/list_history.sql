SELECT role, content
FROM messages
WHERE session_id = :session_id AND role IN ('user', 'assistant')
ORDER BY id
