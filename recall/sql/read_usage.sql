-- $1: the owners, null for all; $2: the session, null for any.
SELECT
    coalesce(sum(hits), 0)::bigint AS hits,
    coalesce(sum(misses), 0)::bigint AS misses,
    coalesce(sum(tokens_injected), 0)::bigint AS tokens_injected
FROM usage
WHERE ($1::text[] IS NULL OR owner = ANY($1)) AND ($2::text IS NULL OR session_id = $2)
