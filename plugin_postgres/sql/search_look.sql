-- Part of a condition: what a lookup in the word index asks of a memory besides its key.
            -- IS TRUE hides this from the index of namespaces, which would be read as well.
            AND (stored.namespace IN (SELECT home.name FROM home)) IS TRUE
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
            AND ($2::text[] IS NULL OR stored.kind = ANY($2))
            AND ($4::jsonb IS NULL OR stored.propagation @> $4)
