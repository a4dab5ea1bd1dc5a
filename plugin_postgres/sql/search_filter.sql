-- Part of a condition: what a search asks of a memory besides words, embedding and time.
    AND ($2::text[] IS NULL OR stored.kind = ANY($2))
    AND ($4::jsonb IS NULL OR stored.propagation @> $4)
