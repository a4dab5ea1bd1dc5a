-- What the plugin knows, and whose words are here, too.
DELETE FROM outbox WHERE id = ANY($1::bigint[])
