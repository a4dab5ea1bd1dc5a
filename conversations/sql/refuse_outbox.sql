UPDATE outbox
SET refused = true
WHERE id = ANY(ARRAY(SELECT id FROM outbox WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE))
