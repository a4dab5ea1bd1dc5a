SELECT id FROM recordings WHERE conversation_id = $1 AND status = 'in_progress'
