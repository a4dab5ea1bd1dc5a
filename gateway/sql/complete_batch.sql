-- The plugin has all memories of the batch: their texts and its messages are dropped, and it is done.
-- Sent together with COMMIT, which goes without arguments: {session} is a number, {batch} a UUID.
UPDATE memories SET text = NULL WHERE session = {session} AND batch = '{batch}';
UPDATE messages SET content = NULL, role = NULL, sender_id = NULL, sent_at = NULL
WHERE session = {session} AND content IS NOT NULL AND batch = '{batch}';
DELETE FROM batches WHERE id = '{batch}';
