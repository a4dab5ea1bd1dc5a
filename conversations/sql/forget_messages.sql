-- The messages $2 of the group $1 were deleted: have the plugin forget them.
-- has_words: there are none to wait for.
INSERT INTO outbox (action, group_id, message_id, has_words)
SELECT 'forget', $1, id, true FROM unnest($2::uuid[]) AS id
