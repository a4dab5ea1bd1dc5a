INSERT INTO sessions (id, created_at) VALUES (:session_id, :now) ON CONFLICT (id) DO NOTHING
