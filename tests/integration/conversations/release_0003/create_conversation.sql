-- A root with its group and owner. No row when the id is known.
WITH moment AS MATERIALIZED (
    SELECT clock_timestamp() AS at
),
room AS (
    INSERT INTO groups (id, owner_user_id, created_at) SELECT $2, $3, at FROM moment
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
