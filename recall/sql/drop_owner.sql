DELETE FROM memories WHERE owner = $1
