SELECT id, session, text
FROM questions
WHERE try_at <= now()
ORDER BY try_at
LIMIT 20
