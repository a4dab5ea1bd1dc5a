SELECT m.session_id, m.role, m.content, m.created_at
FROM message_words AS w
JOIN messages AS m ON m.id = w.rowid
WHERE message_words MATCH :words
ORDER BY w.rank, m.id DESC
LIMIT :limit
