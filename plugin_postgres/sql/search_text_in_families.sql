-- Like search_text, for many namespaces of a few families. The first row describes the others: whether a lookup was
-- cut off, whether all namespaces that it found are live, and which these are. There are no other rows if one of them
-- is not, or if a lookup was cut off that also reads other namespaces ($30).
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
