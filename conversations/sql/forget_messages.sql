-- Messages $2 of the group $1 are gone: what was to be written no longer is, what was must be
-- forgotten.
WITH withdrawn AS (
    DELETE FROM outbox WHERE group_id = $1 AND action = 'write' AND message_id = ANY($2::uuid[])
)
INSERT INTO outbox (action, group_id, message_id)
SELECT 'forget', $1, id FROM unnest($2::uuid[]) AS id
