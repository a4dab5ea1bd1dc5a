INSERT INTO usage (owner, session_id, hits, misses, tokens_injected)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
ON CONFLICT (owner, session_id) DO UPDATE SET
    hits = usage.hits + excluded.hits,
    misses = usage.misses + excluded.misses,
    tokens_injected = usage.tokens_injected + excluded.tokens_injected,
    updated_at = now()
