-- Delete the messages of the conversations $1, each channel by its index. Returns the ids of those that
-- users saw.
WITH history AS (
    DELETE FROM messages
    WHERE conversation_id = ANY($1::uuid[]) AND channel = 'HISTORY'
    RETURNING id, visibility
),
memory AS (
    DELETE FROM messages WHERE conversation_id = ANY($1::uuid[]) AND channel = 'MEMORY'
),
summary AS (
    DELETE FROM messages WHERE conversation_id = ANY($1::uuid[]) AND channel = 'SUMMARY'
)
SELECT id FROM history WHERE visibility = 'user'
