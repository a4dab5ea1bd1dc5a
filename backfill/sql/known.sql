-- Which of these ids the legacy table has, where, and whether this run looks at them.
-- $3: ids; $4: only these workspaces are looked at, or null
SELECT m.id, m.workspace_id, m.scope::text AS scope,
       {chosen} AND ($4::uuid[] IS NULL OR m.workspace_id = ANY ($4)) AS is_chosen
FROM agent_memories AS m
WHERE m.id = ANY ($3)
