-- A page of memories; once it has reached {bytes} bytes, the remaining ones come without their content.
-- The size of a compressed value says nothing about what is sent. A large one is not decompressed to learn more:
-- PostgreSQL compresses to a hundredth at best.
SELECT
    id, namespace, CASE WHEN fits THEN content END AS content, kind, source, created_at,
    expires_at, CASE WHEN fits THEN propagation END AS propagation, pin
FROM (
    SELECT
        *,
        coalesce(sum(octet_length(content) + CASE
            WHEN propagation IS NULL THEN 0
            WHEN pg_column_compression(propagation) IS NULL THEN pg_column_size(propagation)
            WHEN pg_column_size(propagation) < 2048 THEN octet_length(propagation::text)
            ELSE 100 * pg_column_size(propagation)
        END) OVER (
            ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) < {bytes} AS fits
    FROM (
{page}
    ) AS page
) AS weighed
ORDER BY place
