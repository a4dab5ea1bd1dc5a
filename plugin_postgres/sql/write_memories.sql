-- Everything that arrived while the last statement ran: insert, or replace if the namespace already has the id. A row
-- of another namespace is left alone, and so is one that would not change, so a repeated migration rewrites nothing.
-- Sorted, so that two workers that write the same ids lock them in the same order. created_at keeps its value.
INSERT INTO memory_plugin.memory_records AS stored (
    id, namespace, content, kind, source, expires_at, propagation,
    embedding, -- embedding
    pin, created_at
)
SELECT
    written.id, written.namespace, written.content, written.kind, written.source,
    written.expires_at, written.propagation::jsonb,
    written.embedding, -- embedding
    written.pin, coalesce(written.created_at, now())
FROM unnest(
    $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[],
    $8::boolean[], $9::timestamptz[]
    , $10::vector[] -- embedding
) AS written (
    id, namespace, content, kind, source, expires_at, propagation,
    pin, created_at
    , embedding -- embedding
)
JOIN memory_plugin.memory_namespaces AS home
    ON home.name = written.namespace AND (home.expires_at IS NULL OR home.expires_at > now())
ORDER BY written.id
-- include: replace_memories
