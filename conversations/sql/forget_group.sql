WITH withdrawn AS (
    DELETE FROM outbox WHERE group_id = $1
)
-- has_words: there are none to wait for.
INSERT INTO outbox (action, group_id, has_words) VALUES ('drop', $1, true)
