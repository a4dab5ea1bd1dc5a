INSERT INTO owners (owner, namespace) VALUES ($1, $2) ON CONFLICT DO NOTHING
