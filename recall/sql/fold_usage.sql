-- Sessions that nobody uses any more are kept as one row for their owner.
WITH old AS (
    DELETE FROM usage
    WHERE session_id <> '' AND updated_at < now() - interval '30 days'
    RETURNING owner, hits, misses, tokens_injected
)
INSERT INTO usage (owner, session_id, hits, misses, tokens_injected)
SELECT owner, '', sum(hits), sum(misses), sum(tokens_injected) FROM old GROUP BY owner
ON CONFLICT (owner, session_id) DO UPDATE SET
    hits = usage.hits + excluded.hits,
    misses = usage.misses + excluded.misses,
    tokens_injected = usage.tokens_injected + excluded.tokens_injected
