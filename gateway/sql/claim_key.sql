-- Waits for a concurrent request that has claimed the same key.
INSERT INTO idempotency_keys (owner, key, request_sha256)
VALUES ($1, $2, $3)
ON CONFLICT (owner, key) DO NOTHING
