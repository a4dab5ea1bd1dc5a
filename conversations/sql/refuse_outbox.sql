UPDATE outbox SET refused = true WHERE id = ANY($1::bigint[])
