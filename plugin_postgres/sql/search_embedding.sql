-- The memories whose embeddings are nearest to the given one; among these, pinned ones first.
WITH
-- include: search_vectors
SELECT
    stored.id, stored.namespace, stored.content, stored.kind, stored.source, stored.created_at,
    stored.expires_at, stored.propagation, stored.pin, best.score
FROM (SELECT id, score FROM near ORDER BY score DESC, created_at DESC, id LIMIT $3) AS best
JOIN memory_plugin.memory_records AS stored USING (id)
ORDER BY stored.pin DESC, best.score DESC, stored.created_at DESC, stored.id
