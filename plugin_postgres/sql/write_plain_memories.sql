-- Like write_memories, for memories without created_at, expires_at, propagation, embedding and pin, as most are. Even
-- an empty column takes time to send and unpack.
INSERT INTO memory_plugin.memory_records AS stored (id, namespace, content, kind, source)
SELECT written.id, written.namespace, written.content, written.kind, written.source
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
    AS written (id, namespace, content, kind, source)
JOIN memory_plugin.memory_namespaces AS home
    ON home.name = written.namespace AND (home.expires_at IS NULL OR home.expires_at > now())
ORDER BY written.id
-- include: replace_memories
