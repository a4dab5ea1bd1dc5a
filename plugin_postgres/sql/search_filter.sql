-- Part of a condition: the kinds and fields that a search asks for.
    AND ($2::text[] IS NULL OR stored.kind = ANY($2))
    AND ($4::jsonb IS NULL OR stored.propagation @> $4)
