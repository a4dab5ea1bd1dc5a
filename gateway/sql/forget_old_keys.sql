DELETE FROM idempotency_keys WHERE created_at < now() - interval '48 hours'
