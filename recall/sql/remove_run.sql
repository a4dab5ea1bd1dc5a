DELETE FROM runs WHERE run_id = $1 AND owner = $2
