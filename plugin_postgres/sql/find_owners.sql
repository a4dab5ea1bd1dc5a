-- Why a write changed nothing: which namespaces are live, and which of them own the ids.
SELECT
    home.name IS NOT NULL AS namespace_lives,
    stored.namespace AS owner
FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS asked (id, namespace, place)
LEFT JOIN memory_plugin.memory_namespaces AS home
    ON home.name = asked.namespace AND (home.expires_at IS NULL OR home.expires_at > now())
LEFT JOIN memory_plugin.memory_records AS stored ON stored.id = asked.id
ORDER BY asked.place
