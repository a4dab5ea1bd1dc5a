-- How a query is understood. What is done with it stands in search.sql; in words, both are
-- explained in docs/memory-plugins/search.md.
--
-- Nothing here is stored: a change takes effect with the next start.

-- Words that say how something is asked, not what. English ones that the configuration `english`
-- drops are not among them. Folded: without accents.
CREATE OR REPLACE FUNCTION memory_plugin.search_function_words() RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT jsonb_object_agg(listed.word, listed.languages)
    FROM (
        SELECT word, string_agg(language, '') AS languages
        FROM (
            VALUES
            ('E', 'would could might must shall may also many much us let ll ve re isn didn doesn'),
            ('D', 'der die das den dem des ein eine einen einem einer eines und oder aber denn wenn'
                ' als ob dass weil ich du er sie es wir ihr mich dich sich mir dir ihm ihn uns euch'
                ' ihnen mein dein sein unser euer ist sind war waren bin bist seid sei wird werden'
                ' wurde wurden hat habe haben hast hatte hatten kann konnte muss soll sollte will'
                ' wollte darf mag mochte wer was wann wo wohin woher wie warum wieso weshalb welche'
                ' welcher welches welchen wessen wem wen wieviel nicht kein keine mit von vom zu'
                ' zum zur in im an am auf aus bei beim nach vor fur uber unter durch gegen ohne um'
                ' seit bis auch nur noch schon doch so da hier dort man'),
            ('F', 'le la les l un une des du de d et ou mais donc or ni car que qu qui quoi dont ou'
                ' quand comment pourquoi combien quel quelle quels quelles lequel je j tu il elle on'
                ' nous vous ils elles me m te t se s moi toi lui leur leurs mon ma mes ton ta tes'
                ' son sa ses notre nos votre vos ce c cet cette ces ca est es suis sont sommes etes'
                ' etait etaient sera ete etre ai as a avons avez ont avait avoir fait fais peut'
                ' ne n pas plus dans en sur sous avec sans pour par chez vers entre au aux y si'),
            ('S', 'el la los las un una unos unas y e o u pero sino que quien quienes cual cuales'
                ' cuando donde adonde como cuanto cuanta cuantos cuantas porque por yo tu usted'
                ' ustedes nosotros vosotros ellos ellas ella me te se nos os lo le les mi mis tus su'
                ' sus nuestro nuestra es soy eres somos son era eran fue fueron sera ser esta estan'
                ' estoy estaba estar ha han he hemos habia haber hay tiene tengo tienen puede puedo'
                ' no si de del al a en con sin para sobre entre hasta desde muy mas ya este ese esto'
                ' eso esta estos estas'),
            ('P', 'o a os as um uma uns umas e ou mas que quem qual quais quando onde aonde como'
                ' quanto quanta quantos quantas porque por eu tu voce voces nos eles elas ele ela me'
                ' te se lhe lhes meu minha meus minhas teu tua seu sua seus suas nosso nossa sou es'
                ' somos sao era eram foi foram sera ser esta estao estou estava estar ha tem tenho'
                ' tinha ter pode posso nao sim de do da dos das ao aos em no na nos nas com sem para'
                ' pelo pela sobre entre ate desde muito mais ja este esse isso isto aquele'),
            ('I', 'il lo la i gli le l un uno una e ed o ma che chi cui quale quali quando dove come'
                ' quanto quanta quanti quante perche io tu lui lei noi voi loro mi ti si ci vi me te'
                ' se mio mia miei tuo tua suo sua nostro vostro sono sei siamo siete era erano fu'
                ' furono sara essere sta stanno stare ha ho hai hanno abbiamo aveva avere puo posso'
                ' non di del della dei delle a al alla da dal dalla in nel nella con su sul sulla per'
                ' tra fra senza piu gia questo questa quello quella cosa cos'),
            ('N', 'de het een en of maar want dus dat die dit deze wie wat wanneer waar waarheen'
                ' waarom hoe hoeveel welk welke wiens ik jij je u hij zij ze wij we jullie hen hun'
                ' mij me jou hem haar ons mijn jouw zijn onze is ben bent was waren wordt worden werd'
                ' heeft heb hebt hebben had hadden kan kon kunnen moet zal zou wil mag niet geen er'
                ' te in op aan van voor met bij naar uit over door om tot als ook nog al hier daar')
        ) AS lists (language, words)
        CROSS JOIN LATERAL (
            SELECT DISTINCT word FROM unnest(string_to_array(lists.words, ' ')) AS word
        ) AS split
        GROUP BY word
    ) AS listed
$$;

-- English words that change their stem: each finds the others.
CREATE OR REPLACE FUNCTION memory_plugin.search_irregular_forms() RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT jsonb_object_agg(listed.word, listed.others)
    FROM (
        SELECT
            word,
            string_agg(DISTINCT (ts_lexize('pg_catalog.english_stem', other))[1], ' ') AS others
        FROM unnest(string_to_array(
            'go goes going went gone;see sees seeing saw seen;get got gotten;make made;take took taken;'
            'come came;know knew known;think thought;give gave given;find found;tell told;become became;'
            'leave leaving left;feel felt;bring brought;begin began begun;keep kept;hold held;'
            'write writing wrote written;stand stood;hear heard;mean meant;meet met;run ran;pay paid;'
            'sit sat;speak spoke spoken;lie lay lain;lead led;grow grew grown;lose lost;fall fell fallen;'
            'send sent;build built;understand understood;draw drew drawn;break broke broken;spend spent;'
            'rise rose risen;drive drove driven;buy bought;wear wore worn;choose chose chosen;'
            'seek sought;throw threw thrown;catch caught;deal dealt;win won;forget forgot forgotten;'
            'sell sold;fight fought;teach taught;eat ate eaten;sing sang sung;fly flew flown;'
            'swim swam swum;ride rode ridden;drink drank drunk;sleep slept;dream dreamt;ring rang rung;'
            'hide hid hidden;bite bit bitten;blow blew blown;wake woke woken;steal stole stolen;'
            'shake shook shaken;freeze froze frozen;swear swore sworn;tear tore torn;stick stuck;'
            'strike struck;shoot shot;hang hung;dig dug;feed fed;bend bent;lend lent;light lit;'
            'slide slid;spin spun;sweep swept;weep wept;bind bound;bleed bled;breed bred;shine shone;'
            'sink sank sunk;shrink shrank shrunk;spring sprang sprung;say said;child children;man men;'
            'woman women;person people;foot feet;tooth teeth;mouse mice;goose geese;life lives;'
            'wife wives;knife knives;leaf leaves;half halves;shelf shelves;wolf wolves;thief thieves;'
            'good better best;bad worse worst', ';'
        )) AS family
        CROSS JOIN LATERAL unnest(string_to_array(family, ' ')) AS word
        CROSS JOIN LATERAL unnest(string_to_array(family, ' ')) AS other
        GROUP BY word
    ) AS listed
$$;

-- A query taken apart. Templates are tsqueries for the index of words, with '@' where the mark of a
-- namespace belongs; without it they are tsqueries for content_tsv. At most 32 words and 32 pairs of
-- characters count.
CREATE OR REPLACE FUNCTION memory_plugin.search_asked(
    query text,
    OUT folded text,
    OUT words text,
    OUT size integer,         -- how many terms: words by their stems, and pairs of characters
    OUT terms text[],         -- templates, one for each term
    OUT factors real[],       -- what each counts, apart from how rare it is
    OUT last_word text,       -- where it may be unfinished: not before a question mark
    OUT last_term integer,
    OUT begun text,           -- template: words that begin with the last one
    OUT shorter text,         -- template: stems that may be those of a word that begins with it
    OUT phrase tsquery,       -- the words next to each other, where they are several
    OUT literal text,         -- the query, where it is more than words
    OUT only_function boolean,
    OUT is_question boolean
)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    lexemes text[];
    lexeme text;
    stem text;
    stems text[] := '{}';
    template text;
    letters text := '';       -- the languages of which the words are function words
    most integer := 1;        -- words of English that have no stem
    letter text;
    language text := '-';
    grams text[];
BEGIN
    folded := btrim(memory_plugin.search_fold(left(query, 10000)), E' \t\n\r');
    words := btrim(memory_plugin.search_words(folded));
    IF octet_length(words) > 255 THEN
        -- As long words in long texts are.
        words := regexp_replace(words, '([^ ]{255})[^ ]+', '\1', 'g');
    END IF;
    grams := memory_plugin.search_grams(folded);
    is_question := right(folded, 1) = '?';
    only_function := false;
    terms := '{}';
    factors := '{}';
    IF folded <> words THEN
        literal := folded;
        words := regexp_replace(words, '  +', ' ', 'g');
    END IF;
    IF strpos(words, ' ') = 0 THEN
        lexemes := tsvector_to_array(to_tsvector('pg_catalog.simple', words));
    ELSE
        lexemes := ARRAY(
            SELECT word.lexeme
            FROM unnest(to_tsvector('pg_catalog.simple', words)) AS word
            ORDER BY word.positions[1]
        );
        phrase := phraseto_tsquery('pg_catalog.english', left(words, 1000));
    END IF;

    FOREACH lexeme IN ARRAY lexemes LOOP
        -- As the configuration english does: a word with a digit in it has no stem.
        IF lexeme ~ '[0-9]' THEN
            stems := stems || lexeme;
        ELSE
            stem := (ts_lexize('pg_catalog.english_stem', lexeme))[1];
            stems := stems || stem;
            most := most + (stem IS NULL)::integer;
        END IF;
        letters := letters || coalesce(memory_plugin.search_function_words() ->> lexeme, '');
    END LOOP;
    -- English function words have no stem; they count where there is nothing else.
    IF lexemes <> '{}' AND most > cardinality(lexemes) AND grams = '{}' THEN
        only_function := true;
        stems := lexemes;
        phrase := NULL;
        literal := folded;
    END IF;
    -- The language of which the query has the most function words, if more than of English.
    IF length(letters) > 1 THEN
        FOREACH letter IN ARRAY ARRAY['D', 'F', 'S', 'P', 'I', 'N'] LOOP
            IF length(letters) - length(replace(letters, letter, '')) > most - 1 THEN
                most := length(letters) - length(replace(letters, letter, '')) + 1;
                language := letter;
            END IF;
        END LOOP;
    END IF;
    FOR place IN 1 .. cardinality(lexemes) LOOP
        lexeme := lexemes[place];
        stem := stems[place];
        CONTINUE WHEN stem IS NULL OR array_position(stems, stem) < place;
        template := '''@' || stem || '''';
        IF memory_plugin.search_irregular_forms() ? lexeme THEN
            template := '(''@' || replace(
                memory_plugin.search_irregular_forms() ->> lexeme, ' ', ''' | ''@'
            ) || ''')';
        END IF;
        letters := coalesce(memory_plugin.search_function_words() ->> lexeme, '');
        terms := terms || template;
        factors := factors || CASE
            WHEN strpos(letters, 'E') > 0 THEN 0.3
            WHEN strpos(letters, language) > 0 THEN 0.1
            ELSE 1
        END::real;
        EXIT WHEN cardinality(terms) = 32;
    END LOOP;

    -- The last word may be unfinished, unless something follows it.
    lexeme := split_part(words, ' ', -1);
    stem := stems[array_position(lexemes, lexeme)];
    IF stem IS NOT NULL AND right(folded, char_length(lexeme)) = lexeme THEN
        last_word := lexeme;
        last_term := coalesce(array_position(terms, '''@' || stem || ''''), cardinality(terms));
        begun := '''@' || lexeme || ''':*';
        FOR length IN greatest(3, char_length(lexeme) - 5) .. char_length(lexeme) - 1 LOOP
            shorter := concat_ws(' | ', shorter, '''@' || left(lexeme, length) || '''');
        END LOOP;
    END IF;

    IF grams <> '{}' THEN
        -- A character alone is the beginning of a pair, unless it only ends a run of them.
        terms := terms || ARRAY(
            SELECT '''@' || gram || CASE WHEN char_length(gram) = 1 THEN ''':*' ELSE '''' END
            FROM unnest(grams) WITH ORDINALITY AS taken (gram, place)
            WHERE
                char_length(gram) = 2
                OR coalesce(char_length(grams[taken.place - 1]), 1) = 1
            GROUP BY gram
            ORDER BY min(taken.place)
            LIMIT 32
        );
        factors := factors || array_fill(1::real, ARRAY[cardinality(terms) - cardinality(factors)]);
    END IF;
    size := cardinality(terms);
END
$$;

-- A template for several namespaces at once.
CREATE OR REPLACE FUNCTION memory_plugin.search_in(template text, marks text[]) RETURNS tsquery
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    keys text := replace(template, '@', marks[1]);
BEGIN
    FOR place IN 2 .. cardinality(marks) LOOP
        keys := keys || ') | (' || replace(template, '@', marks[place]);
    END LOOP;
    RETURN ('(' || keys || ')')::tsquery;
END
$$;

-- What a filter adds to a template; nothing where there is no filter that the index knows.
CREATE OR REPLACE FUNCTION memory_plugin.search_filter(kinds text[], fields jsonb) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    filter text := '';
BEGIN
    IF NOT 'fact' = ANY(kinds) THEN
        filter := ' & (''@.' || array_to_string(kinds, ''' | ''@.') || ''')';
    END IF;
    IF fields IS NOT NULL THEN
        filter := filter || (
            SELECT string_agg(
                ' & (''@' || memory_plugin.search_field(field.key, field.value) || ''' | ''@.many'')', ''
            )
            FROM jsonb_each(fields) AS field
        );
    END IF;
    RETURN filter;
END
$$;
