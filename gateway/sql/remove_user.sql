-- Deletes the user, with its idempotency keys, if nothing else is left. Returns whether it is gone, even
-- if another worker was faster.
WITH removed AS (
    DELETE FROM users
    WHERE
        id = $1
        AND deleted_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM sessions WHERE owner = $1)
        AND NOT EXISTS (SELECT FROM deletions WHERE owner = $1)
    RETURNING id
)
SELECT EXISTS (SELECT FROM removed) OR NOT EXISTS (SELECT FROM users WHERE id = $1)
