SELECT run_id, owner, mode, count, summary_id, created_at, restorable_until
FROM runs
WHERE ($1::text IS NULL OR owner = $1) AND ($2::uuid IS NULL OR run_id = $2)
    AND restorable_until > now() AND count > 0
ORDER BY created_at DESC, run_id, owner
