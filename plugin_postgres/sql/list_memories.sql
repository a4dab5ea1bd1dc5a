-- A page of memories; once it has reached {bytes} bytes, the remaining ones come without their content.
SELECT
    id, namespace, CASE WHEN fits THEN content END AS content, kind, source, created_at,
    expires_at, CASE WHEN fits THEN propagation END AS propagation, pin
FROM (
    SELECT
        *,
        coalesce(sum(octet_length(content) + coalesce(pg_column_size(propagation), 0)) OVER (
            ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) < {bytes} AS fits
    FROM (
{page}
    ) AS page
) AS weighed
ORDER BY place
