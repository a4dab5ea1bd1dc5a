UPDATE transfers
SET status = 'cancelled', updated_at = clock_timestamp()
WHERE group_id = $1 AND to_user_id = $2 AND status = 'pending'
