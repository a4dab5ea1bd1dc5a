SELECT id FROM recordings WHERE conversation_id = ANY($1::uuid[]) AND status = 'in_progress'
