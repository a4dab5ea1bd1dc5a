UPDATE transfers SET status = $2, updated_at = clock_timestamp() WHERE id = $1 AND status = 'pending'
