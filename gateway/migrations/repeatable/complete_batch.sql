-- The plugin has all memories of the batch: drop their texts and its messages, and delete the batch.
--
-- It is a function because it is sent together with COMMIT, and such a string cannot have arguments: its
-- statements would be planned at every flush, which costs more than running them.
CREATE OR REPLACE FUNCTION memory_gateway.complete_batch(its_session bigint, its_id uuid) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    -- In the order in which the deletion of a session deletes them, so that the two never deadlock.
    DELETE FROM memory_gateway.batches WHERE id = its_id;
    UPDATE memory_gateway.memories SET text = NULL WHERE session = its_session AND batch = its_id;
    UPDATE memory_gateway.messages SET content = NULL, role = NULL, sender_id = NULL, sent_at = NULL
    WHERE session = its_session AND content IS NOT NULL AND batch = its_id;
END
$$;
