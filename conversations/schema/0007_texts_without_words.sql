-- serves: 0003
-- A long text without any word, such as a line of dashes, has no keys. The sum of their sizes was NULL
-- then, and the loop never ended: neither the words of later messages were added, nor any of them sent
-- to the plugin.
CREATE OR REPLACE FUNCTION memory_conversations.search_keys(group_id uuid, content text, is_list boolean)
RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL RESTRICTED
AS $$
DECLARE
    mark text := memory_conversations.group_mark(group_id);
    kept text := memory_conversations.message_text(content, is_list);
    marked text[];
BEGIN
    IF octet_length(kept) <= 65536 THEN
        RETURN array_to_tsvector(
            ARRAY(SELECT mark || lexeme FROM unnest(memory_conversations.lexemes(kept)) AS lexeme)
        );
    END IF;
    LOOP
        BEGIN
            marked := ARRAY(
                SELECT mark || lexeme FROM unnest(memory_conversations.lexemes(kept)) AS lexeme
            );
            -- array_to_tsvector does not check.
            IF (
                SELECT coalesce(sum(octet_length(lexeme) + 1), 0) FROM unnest(marked) AS lexeme
            ) < 1000000 THEN
                RETURN array_to_tsvector(marked);
            END IF;
        EXCEPTION WHEN program_limit_exceeded THEN
            NULL;
        END;
        kept := left(kept, char_length(kept) * 3 / 4);
    END LOOP;
END
$$;
