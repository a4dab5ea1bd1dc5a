-- A query parsed like a memory: folded, as words, as distinct words, as a phrase, and as pairs of characters.
SELECT
    reading.folded,
    reading.words,
    ARRAY(
        SELECT word.lexeme
        FROM unnest(to_tsvector('pg_catalog.simple', reading.words)) AS word
        ORDER BY word.positions[1]
    ),
    CASE
        WHEN strpos(reading.words, ' ') > 0
        THEN phraseto_tsquery('pg_catalog.english', left(reading.words, 1000))::text
    END,
    memory_plugin.search_grams(reading.folded)
FROM (
    SELECT
        given.folded,
        -- Long words are cut as in long texts.
        regexp_replace(
            regexp_replace(btrim(memory_plugin.search_words(given.folded)), '([^ ]{255})[^ ]+', '\1', 'g'),
            '  +', ' ', 'g'
        ) AS words
    FROM (SELECT btrim(memory_plugin.search_fold($1), E' \t\n\r') AS folded) AS given
) AS reading
