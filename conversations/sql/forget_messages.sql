-- The messages $2 of the group $1 were deleted: cancel pending writes, and have the plugin forget them.
WITH withdrawn AS (
    DELETE FROM outbox WHERE group_id = $1 AND action = 'write' AND message_id = ANY($2::uuid[])
)
-- has_words: there are none to wait for.
INSERT INTO outbox (action, group_id, message_id, has_words)
SELECT 'forget', $1, id, true FROM unnest($2::uuid[]) AS id
