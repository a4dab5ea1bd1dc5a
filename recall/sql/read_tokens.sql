-- How many memories recall knows of, and their tokens; $1 owners, null for all; $2 type; $3 session.
SELECT count(*) AS count, coalesce(sum(tokens), 0)::bigint AS tokens, min(expires_at) AS until
FROM memories
WHERE
    ($1::text[] IS NULL OR owner = ANY($1))
    AND ($2::text IS NULL OR type = $2)
    AND ($3::text IS NULL OR session_id = $3)
    AND (expires_at IS NULL OR expires_at > now())
