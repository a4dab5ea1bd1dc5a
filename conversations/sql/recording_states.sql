SELECT id, length, status, message_id FROM recordings WHERE id = ANY($1::uuid[])
