-- Which rows a run looks at. With a limit the oldest: that set stays the same while agents write on.
-- $1: one workspace, or null for all; $2: the limit, or null for none
($1::uuid IS NULL OR m.workspace_id = $1)
AND ($2::bigint IS NULL OR m.id IN (
    SELECT o.id FROM agent_memories AS o
    WHERE $1::uuid IS NULL OR o.workspace_id = $1
    ORDER BY o.created_at, o.id
    LIMIT $2
))
