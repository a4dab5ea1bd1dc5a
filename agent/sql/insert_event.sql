INSERT INTO events (session_id, name, payload, context_visible, created_at)
VALUES (:session_id, :name, :payload, :context_visible, :now)
