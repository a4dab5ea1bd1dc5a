DELETE FROM turns WHERE created_at <= now() - interval '10 minutes'
