SELECT vector_dims(embedding)
FROM memory_plugin.memory_records
WHERE embedding IS NOT NULL AND vector_dims(embedding) > $1
ORDER BY vector_dims(embedding)
LIMIT 1
