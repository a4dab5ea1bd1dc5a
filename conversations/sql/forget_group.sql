WITH withdrawn AS (
    DELETE FROM outbox WHERE group_id = $1
)
-- It has words in so far as it waits for none.
INSERT INTO outbox (action, group_id, has_words) VALUES ('drop', $1, true)
