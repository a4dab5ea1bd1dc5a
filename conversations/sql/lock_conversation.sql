SELECT
    id, group_id, owner_user_id, title, title_folded, title_by_user, next_sequence, first_sequence,
    ancestor_ids, ancestor_from, ancestor_to, last_at
FROM conversations
WHERE id = $1
FOR NO KEY UPDATE
