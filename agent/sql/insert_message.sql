INSERT INTO messages (session_id, role, content, created_at)
VALUES (:session_id, :role, :content, :now)
