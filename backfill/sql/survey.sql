-- How many rows each workspace has in each scope.
SELECT m.workspace_id, m.scope::text AS scope, count(*) AS rows,
       coalesce(sum(octet_length(m.content)), 0)::bigint AS bytes,
       coalesce(max(octet_length(m.content)), 0) AS longest
FROM agent_memories AS m
WHERE {chosen}
GROUP BY 1, 2
ORDER BY 1, 2
