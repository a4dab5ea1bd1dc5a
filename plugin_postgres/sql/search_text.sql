-- Memories with the words of the query: pinned ones first, then the best. What is not worth a fifth of
-- the best is left out.
WITH
-- include: search_found
SELECT *
FROM found
WHERE score >= 0.2 * (SELECT max(score) FROM found)
ORDER BY pin DESC, score DESC, created_at DESC, id
LIMIT $3
