-- A page with a hash in place of the content, taken of the rows of the page only.
SELECT
    page.id, page.namespace,
    encode(sha256(convert_to(page.content, 'UTF8')), 'hex') AS content_sha256
FROM (
-- include: list_page
) AS page
ORDER BY page.id
