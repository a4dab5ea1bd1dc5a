-- Messages $2 of the group $1 are gone: what was to be written no longer is, what was must be
-- forgotten.
WITH withdrawn AS (
    DELETE FROM outbox WHERE group_id = $1 AND action = 'write' AND message_id = ANY($2::uuid[])
)
-- They have words in so far as they wait for none.
INSERT INTO outbox (action, group_id, message_id, has_words)
SELECT 'forget', $1, id, true FROM unnest($2::uuid[]) AS id
