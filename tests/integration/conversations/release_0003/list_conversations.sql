-- The conversations that the user $1 can see, after the place ($2, $3) in the list, $4 at most.
-- $5: roots only; $6: of each group the one updated last; $7: words that each must occur.
-- One's own come in the order of their index; those of others are sorted, and are far fewer.
(
    SELECT
    conversation.id, conversation.title, conversation.owner_user_id, conversation.created_at,
    conversation.updated_at, conversation.last_preview, conversation.group_id,
    4 AS level
    FROM conversations AS conversation
    WHERE
        conversation.owner_user_id = $1
        AND conversation.updated_at <= $2
        AND (conversation.updated_at < $2 OR conversation.id > $3)
        AND (NOT $5::boolean OR conversation.forked_at_conversation_id IS NULL)
        AND (NOT $6::boolean OR NOT EXISTS (
            SELECT FROM conversations AS other
            WHERE
                other.group_id = conversation.group_id
                AND other.updated_at >= conversation.updated_at
                AND (other.updated_at > conversation.updated_at OR other.id < conversation.id)
        ))
        AND NOT EXISTS (
            SELECT FROM unnest($7::text[]) AS word
            WHERE
                strpos(conversation.title_folded, word) = 0
                AND strpos(conversation.metadata_folded, word) = 0
        )
    ORDER BY conversation.updated_at DESC, conversation.id
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
        AND conversation.updated_at <= $2
        AND (conversation.updated_at < $2 OR conversation.id > $3)
        AND (NOT $5::boolean OR conversation.forked_at_conversation_id IS NULL)
        AND (NOT $6::boolean OR NOT EXISTS (
            SELECT FROM conversations AS other
            WHERE
                other.group_id = conversation.group_id
                AND other.updated_at >= conversation.updated_at
                AND (other.updated_at > conversation.updated_at OR other.id < conversation.id)
        ))
        AND NOT EXISTS (
            SELECT FROM unnest($7::text[]) AS word
            WHERE
                strpos(conversation.title_folded, word) = 0
                AND strpos(conversation.metadata_folded, word) = 0
        )
    ORDER BY conversation.updated_at DESC, conversation.id
    LIMIT $4
)
ORDER BY updated_at DESC, id
LIMIT $4
