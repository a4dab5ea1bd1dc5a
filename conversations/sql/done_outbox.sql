DELETE FROM outbox
WHERE id = ANY(ARRAY(SELECT id FROM outbox WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE))
