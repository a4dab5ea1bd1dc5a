-- How many memories match, by the value of the field $6; at most one group more than may be returned.
WITH
-- include: count_matching
SELECT value::text AS value, count(*) AS count
FROM (
    SELECT
        CASE
            WHEN jsonb_typeof(propagation -> $6::text) IN ('string', 'number', 'boolean')
            THEN propagation -> $6
        END AS value
    FROM counted
) AS grouped
GROUP BY grouped.value
LIMIT {groups}
