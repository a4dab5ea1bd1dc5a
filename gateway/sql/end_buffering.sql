-- No message of the session $1 waits for a flush. $2 is its last_message_at as it was read: a later add has changed it.
UPDATE sessions SET is_buffering = false
WHERE id = $1 AND last_message_at = $2
