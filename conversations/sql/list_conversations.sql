-- The conversations that the user $1 can see, after the position ($2, $3), at most $4.
-- $5: only roots; $6: only the last updated one of each group; $7: words that must all occur.
-- The user's own are read in index order and sorted within a minute. Those of others are sorted as a
-- whole; there are far fewer.
(
    SELECT
    conversation.id, conversation.title, conversation.owner_user_id, conversation.created_at,
    conversation.updated_at, conversation.last_preview, conversation.group_id,
    4 AS level
    FROM conversations AS conversation
    WHERE
        conversation.owner_user_id = $1
-- include: listed
    ORDER BY conversation.updated_minute DESC, conversation.updated_at DESC, conversation.id
    LIMIT $4
)
UNION ALL
(
    SELECT
    conversation.id, conversation.title, conversation.owner_user_id, conversation.created_at,
    conversation.updated_at, conversation.last_preview, conversation.group_id,
    membership.level
    FROM memberships AS membership
    JOIN conversations AS conversation ON conversation.group_id = membership.group_id
    WHERE
        membership.user_id = $1
        AND membership.level < 4
-- include: listed
    ORDER BY conversation.updated_at DESC, conversation.id
    LIMIT $4
)
ORDER BY updated_at DESC, id
LIMIT $4
