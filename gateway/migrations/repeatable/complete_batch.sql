-- The plugin has all memories of the batch: their texts and its messages are dropped, and it is done.
--
-- A function, because it is called together with COMMIT, which goes without arguments: statements that came
-- that way would be planned at every flush, which costs more than to run them.
CREATE OR REPLACE FUNCTION memory_gateway.complete_batch(its_session bigint, its_id uuid) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    -- In the order in which they go with their session, so that a deletion and this never wait for
    -- each other.
    DELETE FROM memory_gateway.batches WHERE id = its_id;
    UPDATE memory_gateway.memories SET text = NULL WHERE session = its_session AND batch = its_id;
    UPDATE memory_gateway.messages SET content = NULL, role = NULL, sender_id = NULL, sent_at = NULL
    WHERE session = its_session AND content IS NOT NULL AND batch = its_id;
END
$$;
