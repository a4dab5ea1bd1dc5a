-- Like search_text, for many namespaces of a few families. The first row describes the others: whether a lookup was
-- cut off, whether it has read enough all the same, whether all namespaces that it found are live, and which these are.
-- There are no other rows if one of them is not, or if a lookup has not read enough.
WITH
-- include: search_hits_in_families
,
-- include: search_found
SELECT
    is_cut, is_enough, are_living, names,
    NULL::uuid, NULL, NULL, NULL, NULL, NULL::timestamptz, NULL::timestamptz, NULL::jsonb, NULL::boolean,
    NULL::double precision
FROM met
UNION ALL
SELECT NULL, NULL, NULL, NULL, answer.*
FROM (
-- include: search_answer
) AS answer
WHERE (SELECT met.are_living AND met.is_enough FROM met)
