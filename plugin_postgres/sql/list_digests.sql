-- A page with a hash instead of the content, computed only for the rows of the page.
SELECT
    page.id, page.namespace, page.created_at,
    encode(sha256(convert_to(page.content, 'UTF8')), 'hex') AS content_sha256
FROM (
{page}
) AS page
ORDER BY page.place
