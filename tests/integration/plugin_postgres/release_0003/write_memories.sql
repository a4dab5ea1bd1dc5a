-- All that arrived while the last statement ran, in one: insert, or replace in place where the
-- same namespace knows the id. A row of another namespace is left alone, and so is one that would
-- not change, so that a repeated migration rewrites nothing. Sorted, so that two workers that
-- write the same ids lock them in the same order. created_at stays what it was.
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
ON CONFLICT (id) DO UPDATE SET
    content = excluded.content,
    kind = excluded.kind,
    source = excluded.source,
    expires_at = excluded.expires_at,
    propagation = excluded.propagation,
    embedding = excluded.embedding, -- embedding
    pin = excluded.pin
WHERE stored.namespace = excluded.namespace AND (
    stored.content <> excluded.content
    OR stored.kind <> excluded.kind
    OR stored.source <> excluded.source
    OR stored.expires_at IS DISTINCT FROM excluded.expires_at
    -- As text, because jsonb takes 1 and 1.0 for the same.
    OR stored.propagation::text IS DISTINCT FROM excluded.propagation::text
    OR stored.embedding IS DISTINCT FROM excluded.embedding -- embedding
    OR stored.pin <> excluded.pin
)
RETURNING id
