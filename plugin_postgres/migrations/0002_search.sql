-- Newest-first and text search.
--
-- content_tsv holds the words of a memory twice, as written and as English stems, so that
-- identifiers, stop words and other languages are found as well as inflected words. Text in
-- scripts without spaces, and emoji, are held as pairs of neighbouring characters.
--
-- The index memory_records_words does not hold these words as they are, but each with a mark of its
-- namespace in front. A search therefore reads what the namespaces hold of a word and nothing of
-- what the rest of the table holds of it, however common the word is.
--
-- Everything here is computed by PostgreSQL, so that it is right whoever writes a row. Functions
-- are immutable: a change of one needs a migration that rewrites content_tsv.
--
-- Adding content_tsv rewrites the table once, also that of an adopted database, where a column
-- of that name was English only.

-- Adopted rows may lack what the order of a search relies on.
UPDATE memory_plugin.memory_records SET pin = false WHERE pin IS NULL;
UPDATE memory_plugin.memory_records SET created_at = now() WHERE created_at IS NULL;
ALTER TABLE memory_plugin.memory_records
    ALTER COLUMN pin SET DEFAULT false,
    ALTER COLUMN pin SET NOT NULL,
    ALTER COLUMN created_at SET DEFAULT now(),
    ALTER COLUMN created_at SET NOT NULL;

-- Pinned first, newest first; ties by id. The kind stands last, so that rows of another kind are
-- passed over inside the index.
CREATE INDEX memory_records_newest
    ON memory_plugin.memory_records (namespace, pin DESC, created_at DESC, id, kind);

-- lower() of a database with the collation C knows ASCII only.
DO $$
DECLARE
    collation_name text;
BEGIN
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
        'CREATE FUNCTION memory_plugin.search_lower(value text) RETURNS text'
        ' LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN lower(value COLLATE %s)',
        coalesce(collation_name, 'pg_catalog."default"')
    );
END
$$;

-- Case, accents, width and ligatures do not count. Marks that only colour a letter are dropped
-- (accents, Hebrew points, Arabic vowels and tatweel, variation selectors, joiners).
CREATE FUNCTION memory_plugin.search_fold(value text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE
    WHEN octet_length(value) = char_length(value) THEN lower(value COLLATE "C")
    ELSE normalize(
        replace(replace(replace(translate(
            memory_plugin.search_lower(regexp_replace(
                normalize(value, NFKD),
                '[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640'
                '\u064b-\u065f\u0670\u200b-\u200f\u2060\u20d0-\u20ff\ufe00-\ufe0f\ufeff'
                '\U000e0000-\U000e007f]+',
                '', 'g'
            )),
            'øłđħıς', 'oldhiσ'
        ), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'),
        NFKC
    )
END;

-- Folded text as words with spaces between: punctuation, and what search_grams takes, is left
-- out. A word counts up to its 255th character.
CREATE FUNCTION memory_plugin.search_words(folded text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    words text;
BEGIN
    IF octet_length(folded) = char_length(folded) THEN
        words := regexp_replace(folded, '[^0-9a-z]+', ' ', 'g');
    ELSE
        words := regexp_replace(
            folded,
            '[\u0001-\u002f\u003a-\u0060\u007b-\u00bf\u00d7\u00f7\u02c2-\u02c5\u037e\u055a-\u055f'
            '\u0589\u058a\u05be\u05c0\u05c3\u05c6\u05f3\u05f4\u060c\u060d\u061b-\u061f\u066a-\u066d'
            '\u06d4\u0964\u0965\u0970\u0e00-\u109f\u1360-\u1368\u1680\u1780-\u180a\u1950-\u19ff'
            '\u1a20-\u1aaf\u2000-\u2bff\u2e00-\ua4cf\uac00-\uffff'
            '\U0001f000-\U0001fbff\U00020000-\U0003ffff]+',
            ' ', 'g'
        );
    END IF;
    IF octet_length(words) > 255 THEN
        words := regexp_replace(words, '([^ ]{255})[^ ]+', '\1', 'g');
    END IF;
    RETURN words;
END
$$;

-- The pairs of neighbours in scripts that do not put spaces between words (Thai, Lao, Tibetan,
-- Burmese, Khmer, Tai, Chinese, Japanese, Yi, and Korean, which glues particles on), among symbols
-- and emoji. The last of a run stands alone, so that every character begins a gram.
CREATE FUNCTION memory_plugin.search_grams(folded text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    characters text[];
BEGIN
    IF octet_length(folded) = char_length(folded) THEN
        RETURN '{}';
    END IF;
    characters := string_to_array(
        regexp_replace(
            folded,
            '[^\u0e00-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u20a0-\u20cf\u2100-\u2bff'
            '\u2e80-\u2fff\u3005-\u3007\u3021-\u3029\u3031-\u30fa\u30fc-\ua4cf\uac00-\ud7af'
            '\ue000-\ufaff\U0001f000-\U0001fbff\U00020000-\U0003ffff]+',
            ' ', 'g'
        ),
        NULL
    );
    RETURN ARRAY(
        SELECT rtrim(this || coalesce(next, ''))
        FROM unnest(characters, characters[2:]) AS neighbours (this, next)
        WHERE this <> ' '
    );
END
$$;

CREATE FUNCTION memory_plugin.search_lexemes(content text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    folded text := memory_plugin.search_fold(content);
    words text := memory_plugin.search_words(folded);
BEGIN
    RETURN to_tsvector('pg_catalog.simple', words)
        || strip(to_tsvector('pg_catalog.english', words))
        || array_to_tsvector(memory_plugin.search_grams(folded));
END
$$;

-- A tsvector holds a megabyte and then raises; what is too much is cut until it fits, because
-- a memory that cannot be found by its last word is better than one that cannot be kept.
CREATE FUNCTION memory_plugin.search_document(content text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL RESTRICTED
AS $$
DECLARE
    kept text := content;
    lexemes tsvector;
BEGIN
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

-- What stands in front of the words of a namespace. Two namespaces may have the same mark: the
-- index then finds a few rows too many, and the namespace of each row is compared.
CREATE FUNCTION memory_plugin.search_mark(namespace text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN left(encode(sha256(replace(namespace, '\', '\\')::bytea), 'hex'), 6);

-- The words of a memory as the index holds them. No word has a full stop, so '.pin' is free.
CREATE FUNCTION memory_plugin.search_keys(namespace text, pin boolean, content_tsv tsvector)
RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    mark text := memory_plugin.search_mark(namespace);
    lexemes text[] := tsvector_to_array(content_tsv);
BEGIN
    IF pin THEN
        lexemes := lexemes || '.pin'::text;
    END IF;
    RETURN array_to_tsvector(
        string_to_array(mark || array_to_string(lexemes, ' ' || mark), ' ')
    );
END
$$;

-- A row stays in one piece up to a page, embedding included: comparing embeddings that lie elsewhere
-- costs three times as much, and PostgreSQL would take the table for a small one and leave
-- their index aside. Of a larger row the largest part goes elsewhere first.
ALTER TABLE memory_plugin.memory_records SET (toast_tuple_target = 8160);

ALTER TABLE memory_plugin.memory_records
    DROP COLUMN IF EXISTS content_tsv,
    ADD COLUMN content_tsv tsvector
        GENERATED ALWAYS AS (memory_plugin.search_document(content)) STORED;

-- Every search reads what was inserted since the last clean-up row by row. With the default of 4 MB
-- a search under writes took 20 times as long as one after a clean-up; with this, three times.
CREATE INDEX memory_records_words ON memory_plugin.memory_records
    USING gin (memory_plugin.search_keys(namespace, pin, content_tsv))
    WITH (gin_pending_list_limit = 512);

-- A query taken apart, for search_words.sql. The templates are tsqueries for search_keys, with '@'
-- where the mark of a namespace belongs. At most 32 words and 32 grams count.
CREATE FUNCTION memory_plugin.search_terms(
    query text,
    OUT size integer,       -- how many terms there are: words by their stems, and grams
    OUT lexemes text[],     -- the terms that are lexemes of content_tsv
    OUT starts tsquery[],   -- the others: single characters that begin a gram
    OUT any_term tsquery,   -- any of them, or what the last word begins
    OUT last_word tsquery,  -- none where it is a stop word
    OUT begun tsquery,      -- the last word as the beginning of one
    OUT phrase tsquery,     -- the words as they are, next to each other
    OUT folded text,
    OUT literal text,       -- the same, where it is more than words
    OUT every text,         -- template: all terms
    OUT pinned text,        -- template: any term in a pinned memory
    OUT looser text[]       -- templates: the last word begun; all terms but one; each term
)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    words text;
    stems text[];
    grams text[];
    kept text[];
    last_lexeme text;
    last_stem text;
    prefix text;
    place integer;
BEGIN
    folded := btrim(memory_plugin.search_fold(query), E' \t\n\r');
    words := btrim(memory_plugin.search_words(folded));
    grams := memory_plugin.search_grams(folded);
    IF folded <> words THEN
        literal := folded;
    END IF;
    lexemes := '{}';
    starts := '{}';
    IF words <> '' THEN
        SELECT array_agg(word.lexeme), array_agg(word.stem) INTO lexemes, stems
        FROM (
            SELECT
                lexeme,
                -- As the configuration english does: a word with a digit in it has no stem.
                CASE
                    WHEN lexeme ~ '[0-9]' THEN lexeme
                    ELSE (ts_lexize('pg_catalog.english_stem', lexeme))[1]
                END AS stem
            FROM unnest(to_tsvector('pg_catalog.simple', words))
            ORDER BY positions[1]
            LIMIT 32
        ) AS word;
        phrase := phraseto_tsquery('pg_catalog.simple', left(words, 1000));
        -- Stop words have no stem; they count where there is nothing else.
        IF array_remove(stems, NULL) = '{}' AND grams = '{}' THEN
            stems := lexemes;
        END IF;
        last_lexeme := lexemes[cardinality(lexemes)];
        last_stem := stems[cardinality(stems)];
        lexemes := ARRAY(
            SELECT stem
            FROM unnest(stems) WITH ORDINALITY AS word (stem, place)
            WHERE stem <> ''
            GROUP BY stem
            ORDER BY min(word.place)
        );
    END IF;
    IF grams <> '{}' THEN
        -- A character alone is the beginning of a pair, unless it only ends a run of them.
        grams := ARRAY(
            SELECT gram
            FROM unnest(grams) WITH ORDINALITY AS taken (gram, place)
            WHERE
                char_length(gram) = 2
                OR coalesce(char_length(grams[taken.place - 1]), 1) = 1
            GROUP BY gram
            ORDER BY min(taken.place)
            LIMIT 32
        );
        lexemes := lexemes || ARRAY(
            SELECT gram FROM unnest(grams) AS gram WHERE char_length(gram) = 2
        );
        starts := ARRAY(
            SELECT '''' || gram || ''':*' FROM unnest(grams) AS gram WHERE char_length(gram) = 1
        )::tsquery[];
    END IF;
    size := cardinality(lexemes) + cardinality(starts);
    IF size = 0 THEN
        RETURN;
    END IF;
    kept := ARRAY(SELECT '''@' || lexeme || '''' FROM unnest(lexemes) AS lexeme)
        || ARRAY(SELECT '''@' || substr(start::text, 2) FROM unnest(starts) AS start);
    IF last_stem <> '' THEN
        last_word := ('''' || last_stem || '''')::tsquery;
        begun := ('''' || last_lexeme || ''':*')::tsquery;
        prefix := '''@' || last_lexeme || ''':*';
    END IF;
    every := array_to_string(kept, ' & ');
    any_term := replace(array_to_string(kept || prefix, ' | '), '@', '')::tsquery;
    pinned := format('''@.pin'' & (%s)', array_to_string(kept || prefix, ' | '));
    looser := '{}';
    IF last_stem <> '' THEN
        place := array_position(lexemes, last_stem);
        looser := ARRAY[array_to_string(kept[:place - 1] || prefix || kept[place + 1:], ' & ')];
    END IF;
    IF size BETWEEN 3 AND 8 THEN
        looser := looser || ARRAY(
            SELECT array_to_string(kept[:left_out - 1] || kept[left_out + 1:], ' & ')
            FROM generate_subscripts(kept, 1) AS left_out
        );
    END IF;
    IF size > 1 THEN
        looser := looser || kept;
    END IF;
END
$$;

-- How well a memory answers: the number of terms that it has, 0.9 for a last word of which it has
-- only the beginning, and at most 0.06 to tell apart those that have the same number.
CREATE FUNCTION memory_plugin.search_score(
    lexemes text[], starts tsquery[], any_term tsquery, last_word tsquery, begun tsquery,
    phrase tsquery, literal text, content text, content_tsv tsvector
) RETURNS double precision
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    start tsquery;
    score double precision := length(content_tsv) - length(ts_delete(content_tsv, lexemes));
BEGIN
    FOREACH start IN ARRAY starts LOOP
        IF content_tsv @@ start THEN
            score := score + 1;
        END IF;
    END LOOP;
    IF content_tsv @@ begun AND NOT content_tsv @@ last_word THEN
        score := score + 0.9;
    END IF;
    IF content_tsv @@ phrase THEN
        score := score + 0.02;
    END IF;
    IF literal IS NOT NULL AND strpos(memory_plugin.search_fold(content), literal) > 0 THEN
        score := score + 0.02;
    END IF;
    RETURN score + 0.02 * ts_rank(content_tsv, any_term, 1 | 32);
END
$$;

-- Some memories of a namespace that the index of words finds. The planner puts the body of this
-- in place of the call.
CREATE FUNCTION memory_plugin.search_probe(
    home text, keys tsquery, kinds text[], bound bigint
) RETURNS TABLE (
    id uuid, pin boolean, created_at timestamptz, content text, content_tsv tsvector
)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT stored.id, stored.pin, stored.created_at, stored.content, stored.content_tsv
    FROM memory_plugin.memory_records AS stored
    WHERE
        memory_plugin.search_keys(stored.namespace, stored.pin, stored.content_tsv) @@ keys
        -- Not `=`, which would have the index of the namespace read besides.
        AND stored.namespace IS NOT DISTINCT FROM home
        AND (kinds IS NULL OR stored.kind = ANY(kinds))
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
    LIMIT bound
$$;

-- The newest memories of a namespace, pinned ones before them.
CREATE FUNCTION memory_plugin.search_recent(
    home text, kinds text[], bound bigint
) RETURNS TABLE (
    id uuid, pin boolean, created_at timestamptz, content text, content_tsv tsvector
)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT stored.id, stored.pin, stored.created_at, stored.content, stored.content_tsv
    FROM memory_plugin.memory_records AS stored
    WHERE
        stored.namespace = home
        AND (kinds IS NULL OR stored.kind = ANY(kinds))
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
    ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
    LIMIT bound
$$;
