SELECT request_sha256, duplicate_count
FROM idempotency_keys
WHERE owner = $1 AND key = $2
