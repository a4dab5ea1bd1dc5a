-- $2: set the title; $5: set the metadata.
UPDATE conversations AS conversation
SET
    title = CASE WHEN $2 THEN $3::text ELSE title END,
    title_folded = CASE WHEN $2 THEN $4::text ELSE title_folded END,
    title_by_user = CASE WHEN $2 THEN $3::text IS NOT NULL ELSE title_by_user END,
    metadata = CASE WHEN $5 THEN $6::text ELSE metadata END,
    metadata_folded = CASE WHEN $5 THEN $7::text ELSE metadata_folded END,
    updated_at = greatest(clock_timestamp(), updated_at)
WHERE conversation.id = $1
RETURNING
    conversation.id, conversation.title, conversation.owner_user_id, conversation.created_at,
    conversation.updated_at, conversation.last_preview, conversation.group_id, conversation.metadata,
    conversation.forked_at_conversation_id, conversation.forked_at_message_id
