-- The plugin has the new text; a repeated flush must not write the old one again.
WITH unasked AS (
    DELETE FROM questions WHERE session = $1 AND $2::uuid = ANY(memories)
)
UPDATE memories SET edited_at = now(), text = NULL
WHERE session = $1 AND id = $2 AND deleted_at IS NULL
RETURNING edited_at
