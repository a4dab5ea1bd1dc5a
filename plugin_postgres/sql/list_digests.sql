-- A page with a hash in place of the content, taken of the rows of the page only.
SELECT
    page.id, page.namespace, page.created_at,
    encode(sha256(convert_to(page.content, 'UTF8')), 'hex') AS content_sha256
FROM (
{page}
) AS page
ORDER BY page.place
