-- Create a root with its group and owner. Returns no row if the id exists.
--
-- The ids of an owner's groups begin alike, so that a plugin can look up a word in all of them at once:
-- the beginning of $2 is replaced with that of another group of the owner, if there is one.
WITH moment AS MATERIALIZED (
    SELECT clock_timestamp() AS at
),
room AS (
    INSERT INTO groups (id, owner_user_id, created_at)
    SELECT
        coalesce(
            (
                SELECT overlay($2::uuid::text PLACING left(other.group_id::text, 8) FROM 1 FOR 8)::uuid
                FROM memberships AS other
                WHERE other.user_id = $3 AND other.level = 4
                ORDER BY other.group_id
                LIMIT 1
            ),
            $2
        ),
        $3, at
    FROM moment
    WHERE NOT EXISTS (SELECT FROM conversations WHERE id = $1)
    RETURNING id
),
owner AS (
    INSERT INTO memberships (group_id, user_id, level, created_at)
    SELECT room.id, $3, 4, moment.at FROM room CROSS JOIN moment
)
INSERT INTO conversations AS conversation (
    id, group_id, owner_user_id, title, title_folded, metadata, metadata_folded,
    created_at, updated_at, last_at
)
SELECT $1, room.id, $3, $4, $5, $6, $7, moment.at, moment.at, moment.at
FROM room CROSS JOIN moment
RETURNING
    conversation.id, conversation.title, conversation.owner_user_id, conversation.created_at,
    conversation.updated_at, conversation.last_preview, conversation.group_id, conversation.metadata,
    conversation.forked_at_conversation_id, conversation.forked_at_message_id
