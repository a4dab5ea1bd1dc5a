-- Part of a condition: what a look into the index of words asks of a memory besides its key.
            -- IS TRUE hides this from the index of namespaces, which would be read besides.
            AND (stored.namespace IN (SELECT home.name FROM home)) IS TRUE
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
            AND ($2::text[] IS NULL OR stored.kind = ANY($2))
            AND ($4::jsonb IS NULL OR stored.propagation @> $4)
