SELECT id, forked_at_conversation_id IS NULL AS is_root FROM conversations WHERE group_id = $1
