-- An excerpt of each text, with those words of the query $2 marked that it has.
WITH asked AS (
    SELECT replace(
        (plainto_tsquery('pg_catalog.english', $2) || plainto_tsquery('pg_catalog.simple', $2))::text,
        ' & ', ' | '
    )::tsquery AS words
)
SELECT ts_headline(
    'pg_catalog.english', text, asked.words,
    'StartSel=**, StopSel=**, MaxWords=30, MinWords=12, ShortWord=0'
) AS headline
FROM unnest($1::text[]) WITH ORDINALITY AS one (text, place)
CROSS JOIN asked
ORDER BY one.place
