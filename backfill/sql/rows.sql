-- The rows themselves, to be read with a cursor. A row without a slot has no namespace.
-- Times that Python and RFC 3339 do not know (infinity, BC) come as text beside a null.
-- $3: only these workspaces, or null; $4, $5, $6: workspace, scope and slot of each pair
-- $7: only these ids, or null
SELECT m.id, m.workspace_id, m.scope::text AS scope, pair.slot,
       convert_to(m.content::text, {encoding}) AS content,
       CASE WHEN made.known THEN made.at END AS created_at,
       CASE WHEN made.known IS FALSE THEN made.at::text END AS odd_created_at,
       CASE WHEN changed.known THEN changed.at END AS updated_at,
       CASE WHEN changed.known IS FALSE THEN changed.at::text END AS odd_updated_at,
       {namespace} AS namespace,
       {embedding} AS embedding
FROM agent_memories AS m
LEFT JOIN unnest($4::uuid[], $5::text[], $6::int[]) AS pair (workspace_id, scope, slot)
    ON pair.workspace_id = m.workspace_id AND pair.scope = m.scope::text
CROSS JOIN LATERAL (
    SELECT m.created_at::timestamptz AS at,
           m.created_at >= '0001-01-01' AND m.created_at < '10000-01-01' AS known
) AS made
CROSS JOIN LATERAL (
    SELECT {updated_at}::timestamptz AS at,
           {updated_at} >= '0001-01-01' AND {updated_at} < '10000-01-01' AS known
) AS changed
WHERE {chosen}
  AND ($3::uuid[] IS NULL OR m.workspace_id = ANY ($3))
  AND ($7::uuid[] IS NULL OR m.id = ANY ($7))
ORDER BY {order}
