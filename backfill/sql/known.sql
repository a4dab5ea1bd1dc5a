-- Which of these ids the legacy table has, and where. $1: ids
SELECT m.id, m.workspace_id, m.scope::text AS scope FROM agent_memories AS m WHERE m.id = ANY ($1)
