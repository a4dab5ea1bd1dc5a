-- Keep what was chosen for a turn; a turn that is kept already is chosen anew. $4: the ids with commas.
INSERT INTO turns (digest, seen, block, ids, until)
VALUES ($1, $2, $3, string_to_array($4, ',')::uuid[], $5)
ON CONFLICT (digest) DO UPDATE SET
    seen = excluded.seen, block = excluded.block, ids = excluded.ids, until = excluded.until,
    learned = turns.learned AND turns.created_at > now() - interval '10 minutes',
    created_at = now()
