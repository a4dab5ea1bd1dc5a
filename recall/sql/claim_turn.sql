-- Whether the message of a turn has not been learned from yet: true for one caller only.
INSERT INTO turns (digest, learned)
VALUES ($1, true)
ON CONFLICT (digest) DO UPDATE SET learned = true
WHERE NOT turns.learned OR turns.created_at <= now() - interval '10 minutes'
RETURNING true
