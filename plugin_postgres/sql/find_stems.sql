-- The stems of words; function words have none.
SELECT word, (ts_lexize('pg_catalog.english_stem', word))[1] FROM unnest($1::text[]) AS word
