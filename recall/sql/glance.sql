-- What a worker compares its copies with, and for each owner and turn asked for, what was chosen.
SELECT
    state.settings_version,
    state.keys_version,
    everybody.last_value AS all_edits,
    coalesce(own.edits, 0) AS own_edits,
    shared.edits AS shared_edits,
    turns.seen, turns.block, turns.ids
FROM state
CROSS JOIN edits AS everybody
JOIN owners AS shared ON shared.owner = ''
LEFT JOIN unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS asked (owner, digest, place) ON true
LEFT JOIN owners AS own ON own.owner = asked.owner
LEFT JOIN turns
    ON turns.digest = asked.digest
    AND turns.created_at > now() - interval '10 minutes'
    AND (turns.until IS NULL OR turns.until > now())
ORDER BY asked.place
