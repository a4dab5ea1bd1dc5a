WITH withdrawn AS (
    DELETE FROM outbox WHERE group_id = $1
)
INSERT INTO outbox (action, group_id) VALUES ('drop', $1)
