INSERT INTO transfers (id, group_id, conversation_id, from_user_id, to_user_id)
VALUES ($1, $2, $3, $4, $5)
