DELETE FROM memories WHERE expires_at < now() - interval '1 day'
