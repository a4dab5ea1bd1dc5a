UPDATE recordings SET updated_at = clock_timestamp() WHERE id = $1 AND status = 'in_progress'
