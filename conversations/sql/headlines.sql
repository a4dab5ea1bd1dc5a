-- An excerpt of each text with the words of the query $2 marked.
SELECT ts_headline(
    'pg_catalog.english', text, websearch_to_tsquery('pg_catalog.english', $2)
        || websearch_to_tsquery('pg_catalog.simple', $2),
    'StartSel=**, StopSel=**, MaxWords=30, MinWords=12, ShortWord=0'
)
FROM unnest($1::text[]) AS text
