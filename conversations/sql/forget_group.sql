-- The group $1 is being deleted: cancel pending writes, and have the plugin forget it. Before the messages
-- are deleted: see add_words.
WITH withdrawn AS (
    DELETE FROM outbox
    WHERE id = ANY(ARRAY(SELECT id FROM outbox WHERE group_id = $1 ORDER BY id FOR UPDATE))
)
-- has_words: there are none to wait for.
INSERT INTO outbox (action, group_id, has_words) VALUES ('drop', $1, true)
