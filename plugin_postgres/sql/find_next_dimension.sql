SELECT dimension
FROM memory_plugin.memory_records
WHERE dimension > $1
ORDER BY dimension
LIMIT 1
