UPDATE idempotency_keys SET duplicate_count = $3 WHERE owner = $1 AND key = $2
