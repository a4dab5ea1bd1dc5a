-- What a worker compares its copies with, and for each owner and turn asked for, what was chosen.
-- The arrays stand in subqueries, so that a plan does not depend on how long they are: else
-- PostgreSQL would make a new one for every request, which takes longer than running it.
SELECT
    state.settings_version,
    state.keys_version,
    everybody.last_value AS all_edits,
    coalesce(own.edits, 0) AS own_edits,
    shared.edits AS shared_edits,
    turns.seen, turns.block, array_to_string(turns.ids, ',') AS ids
FROM state
CROSS JOIN edits AS everybody
JOIN owners AS shared ON shared.owner = ''
LEFT JOIN unnest((SELECT $1::text[]), (SELECT $2::bytea[]))
    WITH ORDINALITY AS asked (owner, digest, place) ON true
LEFT JOIN owners AS own ON own.owner = asked.owner
LEFT JOIN turns
    ON turns.digest = asked.digest
    AND turns.created_at > now() - interval '10 minutes'
    AND (turns.until IS NULL OR turns.until > now())
ORDER BY asked.place
