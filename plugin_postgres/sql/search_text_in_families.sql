-- As search_text, where the namespaces are many and of a few families. The first row tells about the others: whether
-- a look was cut, whether the namespaces that it met live, and which these are. There are no others where they do
-- not, or where a look was cut that reads more than what was asked for ($30).
WITH
-- include: search_hits_in_families
,
-- include: search_found
SELECT
    is_cut, are_living, names,
    NULL::uuid, NULL, NULL, NULL, NULL, NULL::timestamptz, NULL::timestamptz, NULL::jsonb, NULL::boolean,
    NULL::double precision
FROM met
UNION ALL
SELECT NULL, NULL, NULL, answer.*
FROM (
-- include: search_answer
) AS answer
WHERE (SELECT met.are_living AND NOT (met.is_cut AND $30) FROM met)
