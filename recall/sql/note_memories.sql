INSERT INTO memories (id, owner, type, session_id, tokens, expires_at, embedded_with)
SELECT *
FROM unnest(
    $1::uuid[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::timestamptz[], $7::text[]
)
ON CONFLICT (id) DO UPDATE SET
    owner = excluded.owner, type = excluded.type, session_id = excluded.session_id,
    tokens = excluded.tokens, expires_at = excluded.expires_at,
    embedded_with = excluded.embedded_with
