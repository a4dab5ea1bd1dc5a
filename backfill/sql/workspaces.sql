-- Every workspace with the root of its chain, in one walk from the roots down: a cycle hangs
-- from no root, so it is never entered. What the walk did not reach has no root here.
-- $1: how deep a chain may be
WITH RECURSIVE tree (id, root, depth) AS (
    SELECT w.id, w.id, 1
    FROM workspaces AS w
    WHERE NOT EXISTS (SELECT FROM workspaces AS p WHERE p.id = w.parent_id)
    UNION ALL
    SELECT w.id, tree.root, tree.depth + 1
    FROM tree
    JOIN workspaces AS w ON w.parent_id = tree.id
    WHERE tree.depth < $1
)
SELECT w.id, w.name, w.status, w.parent_id, w.parent_id IS NOT NULL AND p.id IS NULL AS parent_is_missing,
       p.status AS parent_status, tree.root
FROM workspaces AS w
LEFT JOIN workspaces AS p ON p.id = w.parent_id
LEFT JOIN tree ON tree.id = w.id
ORDER BY w.id
