-- The end of the statements that write: what happens if the id exists.
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
    -- As text, because to jsonb 1 and 1.0 are equal.
    OR stored.propagation::text IS DISTINCT FROM excluded.propagation::text
    OR stored.embedding IS DISTINCT FROM excluded.embedding -- embedding
    OR stored.pin <> excluded.pin
)
RETURNING id
