-- Records what a flush takes from the session $1: the messages with the numbers $13. $14 is the session's
-- last_message_at as it was read: a later add has changed it.
WITH seen AS MATERIALIZED (
    SELECT $1::bigint AS id, $13::bigint[] AS numbers, $14::timestamptz AS last_message_at
),
-- include: take_seen
SELECT count(*) FROM taken
