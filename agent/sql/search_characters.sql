-- For queries without words, such as punctuation or emoji.
SELECT session_id, role, content, created_at
FROM messages
WHERE instr(content, :characters) > 0
ORDER BY id DESC
LIMIT :limit
