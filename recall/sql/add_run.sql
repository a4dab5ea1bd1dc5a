INSERT INTO runs (run_id, owner, mode, count, summary_id, created_at, restorable_until)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (run_id, owner) DO UPDATE SET count = EXCLUDED.count
