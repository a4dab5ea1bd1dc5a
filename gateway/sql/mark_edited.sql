-- The plugin has the new text; the old one must not be written again by a flush that is repeated.
WITH unasked AS (
    DELETE FROM questions WHERE session = $1 AND $2::uuid = ANY(memories)
)
UPDATE memories SET edited_at = now(), text = NULL
WHERE session = $1 AND id = $2 AND deleted_at IS NULL
RETURNING edited_at
