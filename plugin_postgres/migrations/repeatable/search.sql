-- Parts of the statements that search. plugin_postgres/question.py decides which words of a query count, and
-- plugin_postgres/sql/search_found.sql finds and scores the memories; docs/memory-plugins/search.md explains the
-- ranking.
--
-- No data depends on these functions: a change takes effect at the next start.

-- At most `bound` memories that the word index finds by `keys`. With a time range, at most 2,000 are read;
-- search_newest finds the others. The planner inlines this function.
CREATE OR REPLACE FUNCTION memory_plugin.search_look(
    keys tsquery, homes text[], kinds text[], fields jsonb, since timestamptz, until timestamptz, bound bigint
) RETURNS TABLE (id uuid, pin boolean, created_at timestamptz, content_tsv tsvector)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT probed.id, probed.pin, probed.created_at, probed.content_tsv
    FROM (
        SELECT stored.id, stored.pin, stored.created_at, stored.content_tsv
        FROM memory_plugin.memory_records AS stored
        WHERE
            memory_plugin.search_keys(
                stored.namespace, stored.kind, stored.pin, stored.propagation, stored.content_tsv
            ) @@ keys
            -- IS TRUE hides this from the index of namespaces, which would be read as well.
            AND (stored.namespace = ANY(homes)) IS TRUE
            AND (stored.expires_at IS NULL OR stored.expires_at > now())
            AND (kinds IS NULL OR stored.kind = ANY(kinds))
            AND (fields IS NULL OR stored.propagation @> fields)
        LIMIT CASE WHEN since IS NULL AND until IS NULL THEN bound ELSE 2000 END
    ) AS probed
    WHERE (since IS NULL OR probed.created_at >= since) AND (until IS NULL OR probed.created_at < until)
    LIMIT bound
$$;

-- The newest memories of a namespace in the time range, `newest` pinned ones and `newest` others, as far as they
-- match the filter. The planner inlines this function as well.
CREATE OR REPLACE FUNCTION memory_plugin.search_newest(
    home text, kinds text[], fields jsonb, since timestamptz, until timestamptz, newest bigint
) RETURNS TABLE (id uuid, pin boolean, created_at timestamptz, content_tsv tsvector, content text)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT stored.id, stored.pin, stored.created_at, stored.content_tsv, stored.content
    FROM (VALUES (true), (false)) AS pinned (pin)
    CROSS JOIN LATERAL (
        SELECT *
        FROM memory_plugin.memory_records AS recent
        WHERE
            recent.namespace = home
            AND recent.pin = pinned.pin
            AND recent.created_at >= coalesce(since, '-infinity')
            AND recent.created_at < coalesce(until, 'infinity')
        ORDER BY recent.created_at DESC, recent.id
        LIMIT newest
    ) AS stored
    WHERE
        (stored.expires_at IS NULL OR stored.expires_at > now())
        AND (kinds IS NULL OR stored.kind = ANY(kinds))
        AND (fields IS NULL OR stored.propagation @> fields)
$$;

-- The weight of a clue that `found` memories have. The planner inlines this and the next three functions as well.
CREATE OR REPLACE FUNCTION memory_plugin.search_weight(factor double precision, found bigint)
RETURNS double precision
LANGUAGE sql STABLE PARALLEL SAFE
RETURN factor * ln(1 + 1000 / greatest(found, 1)::double precision);

-- What a memory is worth by the weights of its clues. With the same clues, a shorter memory is worth a little more.
-- Rounded, because the result of a sum depends on its order, and ties must be ties.
CREATE OR REPLACE FUNCTION memory_plugin.search_worth(
    weight double precision, total double precision, length integer
) RETURNS double precision
LANGUAGE sql STABLE PARALLEL SAFE
RETURN round(1e9 * weight / total * (1 - 0.002 * ln(1 + length))) / 1e9;

-- The score of a memory, between 0 and 1.
CREATE OR REPLACE FUNCTION memory_plugin.search_score(
    worth double precision, content text, content_tsv tsvector, phrase tsquery, literal text,
    is_question boolean
) RETURNS double precision
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    -- A memory that is a question rarely answers one.
    worth * CASE WHEN is_question AND content LIKE '%?' THEN 0.9::double precision ELSE 1 END
    + CASE
        -- A memory that lacks some of the words cannot have the phrase, and checking that is slow.
        WHEN worth < 0.8 OR phrase IS NOT NULL AND NOT content_tsv @@ phrase THEN 0::double precision
        WHEN literal IS NOT NULL AND strpos(memory_plugin.search_fold(content), literal) > 0 THEN 0.04
        WHEN phrase IS NOT NULL THEN 0.02
        ELSE 0
    END
) / 1.04;

-- A time as it is sent: the driver takes longer to decode one than PostgreSQL to format it.
CREATE OR REPLACE FUNCTION memory_plugin.search_time(value timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN replace(
    to_char(
        -- Like the driver, use the first and the last instant of its calendar for infinity.
        greatest(least(value, '9999-12-31 23:59:59.999999+00'), '0001-01-01 00:00:00+00') AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
    ), '.000000Z', 'Z'
);

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

-- What a filter adds to a template; nothing if the index does not cover it.
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

-- The remaining functions are seldom called. They are not inlined, so that other searches do not pay for them.

-- What a template finds in any number of namespaces.
CREATE OR REPLACE FUNCTION memory_plugin.search_template(
    template text, homes text[], kinds text[], fields jsonb, since timestamptz, until timestamptz, bound bigint
) RETURNS TABLE (id uuid, pin boolean, created_at timestamptz, content_tsv tsvector)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 60
AS $$
BEGIN
    RETURN QUERY
    SELECT memory.*
    FROM generate_series(1, cardinality(homes), 32) AS first
    CROSS JOIN LATERAL (SELECT homes[first : first + 31] AS names OFFSET 0) AS part
    CROSS JOIN LATERAL memory_plugin.search_look(
        memory_plugin.search_in(
            template, ARRAY(SELECT memory_plugin.search_mark(name) FROM unnest(part.names) AS name)
        ),
        part.names, kinds, fields, since, until, bound
    ) AS memory
    WHERE template IS NOT NULL;
END
$$;

-- Whether a word of a text begins with `beginning`.
CREATE OR REPLACE FUNCTION memory_plugin.search_begins(content text, beginning text) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN strpos(' ' || memory_plugin.search_words(memory_plugin.search_fold(content)), ' ' || beginning) > 0;
END
$$;

-- Memories with a word that begins with `beginning` and has a shorter stem.
CREATE OR REPLACE FUNCTION memory_plugin.search_begun(
    template text, beginning text, homes text[], kinds text[], fields jsonb, since timestamptz,
    until timestamptz, bound bigint
) RETURNS TABLE (id uuid, pin boolean, created_at timestamptz, content_tsv tsvector)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
AS $$
BEGIN
    RETURN QUERY
    SELECT memory.*
    FROM memory_plugin.search_template(template, homes, kinds, fields, since, until, bound) AS memory
    JOIN memory_plugin.memory_records AS stored ON stored.id = memory.id
    WHERE memory_plugin.search_begins(stored.content, beginning);
END
$$;

-- Those of the newest memories that contain `part` anywhere.
CREATE OR REPLACE FUNCTION memory_plugin.search_within(
    part text, homes text[], kinds text[], fields jsonb, since timestamptz, until timestamptz
) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
AS $$
BEGIN
    RETURN QUERY
    SELECT memory.id
    FROM unnest(homes) AS home
    CROSS JOIN LATERAL memory_plugin.search_newest(
        home, kinds, fields, since, until, greatest(3000 / cardinality(homes), 2)
    ) AS memory
    WHERE strpos(memory_plugin.search_fold(memory.content), part) > 0;
END
$$;

-- The namespaces with pinned memories.
CREATE OR REPLACE FUNCTION memory_plugin.search_pinned(homes text[]) RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    -- Usually there are none, and one index scan finds that out. A limit that is unknown to the planner keeps
    -- PostgreSQL from scanning the table instead.
    PERFORM FROM memory_plugin.memory_records AS stored
    WHERE stored.namespace = ANY(homes) AND stored.pin
    LIMIT (SELECT 1);
    IF NOT FOUND THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(
        SELECT home
        FROM unnest(homes) AS home
        CROSS JOIN LATERAL (
            SELECT stored.pin
            FROM memory_plugin.memory_records AS stored
            WHERE stored.namespace = home
            ORDER BY stored.pin DESC, stored.created_at DESC, stored.id
            LIMIT 1
        ) AS first
        WHERE first.pin
    );
END
$$;

-- What may answer a query besides the hits of its lookups: memories with all its words (`every`, at most `most` of
-- them), the newest of each namespace (`newest`; 800 in all, unless there is a time range), pinned ones with any word
-- (`pinned`), and those with a word that begins with `beginning` and has a shorter stem (`begun`, at most `bound` of
-- them). Parameters that are null are skipped.
CREATE OR REPLACE FUNCTION memory_plugin.search_further(
    homes text[], kinds text[], fields jsonb, since timestamptz, until timestamptz,
    every text, most bigint, newest bigint, pinned text, begun text, beginning text, bound bigint
) RETURNS TABLE (id uuid, pin boolean, created_at timestamptz, content_tsv tsvector, is_begun boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 60
AS $$
DECLARE
    with_pins text[];
BEGIN
    IF every IS NOT NULL THEN
        RETURN QUERY
        SELECT memory.*, false
        FROM memory_plugin.search_template(every, homes, kinds, fields, since, until, most) AS memory;
    END IF;
    IF newest IS NOT NULL THEN
        RETURN QUERY
        SELECT memory.id, memory.pin, memory.created_at, memory.content_tsv, false
        FROM unnest(homes) AS home
        CROSS JOIN LATERAL memory_plugin.search_newest(home, kinds, fields, since, until, newest) AS memory
        LIMIT CASE WHEN since IS NULL AND until IS NULL THEN 800 END;
    END IF;
    IF pinned IS NOT NULL THEN
        with_pins := memory_plugin.search_pinned(homes);
        IF with_pins <> '{}' THEN
            RETURN QUERY
            SELECT memory.*, false
            FROM memory_plugin.search_template(pinned, with_pins, kinds, fields, since, until, most) AS memory;
        END IF;
    END IF;
    IF begun IS NOT NULL THEN
        RETURN QUERY
        SELECT memory.*, true
        FROM memory_plugin.search_begun(begun, beginning, homes, kinds, fields, since, until, bound) AS memory;
    END IF;
END
$$;

-- Like search_within, without the memories in `known`, and with the columns that a search returns.
CREATE OR REPLACE FUNCTION memory_plugin.search_part(
    part text, known uuid[], homes text[], kinds text[], fields jsonb, since timestamptz, until timestamptz
) RETURNS TABLE (
    id uuid, namespace text, content text, kind text, source text, created_at timestamptz,
    expires_at timestamptz, propagation jsonb, pin boolean
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10
AS $$
BEGIN
    RETURN QUERY
    SELECT
        stored.id, stored.namespace, stored.content, stored.kind, stored.source, stored.created_at,
        stored.expires_at, stored.propagation, stored.pin
    FROM memory_plugin.search_within(part, homes, kinds, fields, since, until) AS within (id)
    JOIN memory_plugin.memory_records AS stored ON stored.id = within.id
    WHERE (within.id = ANY(known)) IS NOT TRUE;
END
$$;

-- The `newest` memories of each namespace that are not pinned, without those that search_few has already found: by
-- `clues` or, if `shorter` is given, like search_begun.
CREATE OR REPLACE FUNCTION memory_plugin.search_others(
    homes text[], kinds text[], fields jsonb, newest bigint, clues tsquery, shorter tsquery, beginning text
) RETURNS TABLE (
    created_at timestamptz, id uuid, namespace text, content text, kind text, source text,
    expires_at timestamptz, propagation jsonb, content_tsv tsvector
)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 60
AS $$
BEGIN
    RETURN QUERY
    SELECT
        stored.created_at, stored.id, stored.namespace, stored.content, stored.kind, stored.source,
        stored.expires_at, stored.propagation, stored.content_tsv
    FROM memory_plugin.memory_namespaces AS home
    CROSS JOIN LATERAL (
        SELECT *
        FROM memory_plugin.memory_records AS recent
        WHERE recent.namespace = home.name AND NOT recent.pin
        ORDER BY recent.created_at DESC, recent.id
        LIMIT newest
    ) AS stored
    WHERE
        home.name = ANY(homes)
        AND (home.expires_at IS NULL OR home.expires_at > now())
        AND (stored.expires_at IS NULL OR stored.expires_at > now())
        AND (kinds IS NULL OR stored.kind = ANY(kinds))
        AND (fields IS NULL OR stored.propagation @> fields)
        AND NOT stored.content_tsv @@ clues
        AND NOT CASE
            WHEN stored.content_tsv @@ shorter THEN memory_plugin.search_begins(stored.content, beginning)
            ELSE false
        END;
END
$$;
