-- Full text over the messages that users see: what answers while the plugin is away, and what finds
-- a message that has not reached the plugin yet.
--
-- A word is held as written and as an English stem; text in scripts without spaces as pairs of
-- neighbouring characters. Each has a mark of its group in front, so that a search reads what the
-- groups of the asking user hold of a word, and nothing of anybody else's.

DO $$
DECLARE
    collation_name text;
BEGIN
    -- lower() of a database with the collation C knows ASCII only.
    IF (SELECT datctype IN ('C', 'POSIX') FROM pg_database WHERE datname = current_database())
    THEN
        SELECT format('pg_catalog.%I', collname) INTO collation_name
        FROM pg_collation
        WHERE
            collnamespace = 'pg_catalog'::regnamespace
            AND collname IN ('pg_c_utf8', 'und-x-icu', 'C.utf8', 'en_US.utf8')
            AND collencoding IN (-1, pg_char_to_encoding('UTF8'))
        ORDER BY array_position(ARRAY['pg_c_utf8', 'und-x-icu', 'C.utf8', 'en_US.utf8'], collname::text)
        LIMIT 1;
    END IF;
    EXECUTE format(
        'CREATE FUNCTION memory_conversations.lowered(value text) RETURNS text'
        ' LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN lower(value COLLATE %s)',
        coalesce(collation_name, 'pg_catalog."default"')
    );
END
$$;

-- The text of a message: a string, or the text parts of a list, up to the length that is indexed.
CREATE FUNCTION memory_conversations.message_text(content text, is_list boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF NOT is_list THEN
        RETURN left(content, 100000);
    END IF;
    RETURN coalesce(
        (
            SELECT left(string_agg(part ->> 'text', E'\n' ORDER BY place), 100000)
            FROM json_array_elements(content::json) WITH ORDINALITY AS parts (part, place)
            WHERE part ->> 'type' = 'text' AND json_typeof(part -> 'text') = 'string'
        ),
        ''
    );
END
$$;

-- Case, accents and width do not count.
CREATE FUNCTION memory_conversations.folded(value text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE
    WHEN octet_length(value) = char_length(value) THEN lower(value COLLATE "C")
    ELSE normalize(
        memory_conversations.lowered(regexp_replace(
            normalize(value, NFKD),
            '[\u0300-\u036f\u0591-\u05bd\u0640\u064b-\u065f\u0670\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff]+',
            '', 'g'
        )),
        NFKC
    )
END;

-- The words of a text as lexemes: as written, as English stems, and pairs of characters where words
-- have no spaces between them. A word counts up to its 60th character.
CREATE FUNCTION memory_conversations.lexemes(value text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    folded text := memory_conversations.folded(value);
    words text;
    characters text[];
    grams text[] := '{}';
BEGIN
    IF octet_length(folded) = char_length(folded) THEN
        words := regexp_replace(folded, '[^0-9a-z]+', ' ', 'g');
    ELSE
        words := regexp_replace(
            folded,
            '[\u0001-\u002f\u003a-\u0060\u007b-\u00bf\u00d7\u00f7\u2000-\u2bff\u2e00-\ua4cf'
            '\u0e00-\u109f\u1780-\u17ff\uac00-\uffff\U0001f000-\U0001fbff\U00020000-\U0003ffff]+',
            ' ', 'g'
        );
        characters := string_to_array(
            regexp_replace(
                folded,
                '[^\u0e00-\u109f\u1780-\u17ff\u20a0-\u20cf\u2100-\u2bff\u2e80-\u2fff\u3005-\u3007'
                '\u3031-\u30fa\u30fc-\ua4cf\uac00-\ud7af\uf900-\ufaff'
                '\U0001f000-\U0001fbff\U00020000-\U0003ffff]+',
                ' ', 'g'
            ),
            NULL
        );
        -- The last character of a run stands alone, so that each begins a pair or is one.
        grams := ARRAY(
            SELECT DISTINCT rtrim(this || coalesce(next, ''))
            FROM unnest(characters, characters[2:]) AS neighbours (this, next)
            WHERE this <> ' '
        );
    END IF;
    IF octet_length(words) > 60 THEN
        words := regexp_replace(words, '([^ ]{60})[^ ]+', '\1', 'g');
    END IF;
    RETURN tsvector_to_array(
        to_tsvector('pg_catalog.simple', words) || to_tsvector('pg_catalog.english', words)
    ) || grams;
END
$$;

CREATE FUNCTION memory_conversations.group_mark(group_id uuid) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN left(group_id::text, 6);

-- A tsvector holds a megabyte; what is too much is cut until it fits.
CREATE FUNCTION memory_conversations.search_keys(group_id uuid, content text, is_list boolean)
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
            IF (SELECT sum(octet_length(lexeme) + 1) FROM unnest(marked) AS lexeme) < 1000000 THEN
                RETURN array_to_tsvector(marked);
            END IF;
        EXCEPTION WHEN program_limit_exceeded THEN
            NULL;
        END;
        kept := left(kept, char_length(kept) * 3 / 4);
    END LOOP;
END
$$;

-- The words of a query as tsqueries with '@' where the mark of a group belongs: each word as written
-- or by its stem, the last one also as the beginning of a word, pairs of characters as they are.
-- Stop words count where there is nothing else. At most 32 count.
CREATE FUNCTION memory_conversations.search_terms(query text) RETURNS text[]
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    folded text := memory_conversations.folded(query);
    words text;
    runs text;
    terms text[];
BEGIN
    words := CASE
        WHEN octet_length(folded) = char_length(folded)
            THEN regexp_replace(folded, '[^0-9a-z]+', ' ', 'g')
        ELSE regexp_replace(
            folded,
            '[\u0001-\u002f\u003a-\u0060\u007b-\u00bf\u00d7\u00f7\u2000-\u2bff\u2e00-\ua4cf'
            '\u0e00-\u109f\u1780-\u17ff\uac00-\uffff\U0001f000-\U0001fbff\U00020000-\U0003ffff]+',
            ' ', 'g'
        )
    END;
    words := regexp_replace(words, '([^ ]{60})[^ ]+', '\1', 'g');
    WITH word AS (
        SELECT
            found.lexeme,
            (tsvector_to_array(to_tsvector('pg_catalog.english', found.lexeme)))[1] AS stem,
            found.positions[1] AS place,
            found.positions[1] = max(found.positions[1]) OVER () AS is_last
        FROM unnest(to_tsvector('pg_catalog.simple', words)) AS found
    )
    SELECT array_agg(
        '(' || quote_literal('@' || lexeme)
            || CASE WHEN stem <> lexeme THEN ' | ' || quote_literal('@' || stem) ELSE '' END
            || CASE WHEN is_last THEN ' | ' || quote_literal('@' || lexeme) || ':*' ELSE '' END
            || ')'
        ORDER BY place
    )
    INTO terms
    FROM word
    WHERE stem IS NOT NULL OR NOT EXISTS (SELECT FROM word WHERE stem IS NOT NULL);
    IF octet_length(folded) > char_length(folded) THEN
        runs := regexp_replace(
            folded,
            '[^\u0e00-\u109f\u1780-\u17ff\u20a0-\u20cf\u2100-\u2bff\u2e80-\u2fff\u3005-\u3007'
            '\u3031-\u30fa\u30fc-\ua4cf\uac00-\ud7af\uf900-\ufaff'
            '\U0001f000-\U0001fbff\U00020000-\U0003ffff]+',
            ' ', 'g'
        );
        terms := coalesce(terms, '{}') || ARRAY(
            SELECT DISTINCT CASE
                WHEN char_length(run) = 1 THEN quote_literal('@' || run) || ':*'
                ELSE quote_literal('@' || substr(run, place, 2))
            END
            FROM regexp_split_to_table(btrim(runs), ' +') AS run
            CROSS JOIN generate_series(1, greatest(char_length(run) - 1, 1)) AS place
            WHERE run <> ''
        );
    END IF;
    RETURN coalesce(terms[1:32], '{}');
END
$$;

-- Filled behind the appends, from the outbox: computing the words of a message takes longer than
-- storing it. Until then a message is found in the outbox.
CREATE TABLE words (
    message_id uuid PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
    group_id   uuid NOT NULL,
    keys       tsvector NOT NULL
);
CREATE INDEX words_keys ON words USING gin (keys) WITH (gin_pending_list_limit = 512);
