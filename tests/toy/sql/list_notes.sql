SELECT id, text FROM notes WHERE id > $1 ORDER BY id
