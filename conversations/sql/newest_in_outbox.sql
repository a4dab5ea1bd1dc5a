SELECT last_value FROM outbox_id_seq
