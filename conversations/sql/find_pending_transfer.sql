SELECT id, to_user_id FROM transfers WHERE group_id = $1 AND status = 'pending'
