-- The stems of words. As the configuration english does it: a word with a digit has itself.
SELECT
    word,
    CASE WHEN word ~ '[0-9]' THEN word ELSE (ts_lexize('pg_catalog.english_stem', word))[1] END
FROM unnest($1::text[]) AS word
