-- Memories with the words of the query.
WITH
-- include: search_hits
,
-- include: search_found
-- include: search_answer
