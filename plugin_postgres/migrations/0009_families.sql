-- serves: 0003
--
-- A search over a thousand namespaces looked up every word in each of them. Names that share their first
-- three parts, such as all that one user has, are a family now: a second index holds the words of their
-- memories with the mark of the family in front, so that one look serves them all.
--
-- A part ends at a colon, and the third one also at a hyphen; a third part of less than eight characters is
-- a word rather than an id, and what follows it may be anybody's. Names without a family, which most
-- namespaces have, are not in the index and cost nothing.
--
-- The table is read once, and written to again when the index is built.

CREATE FUNCTION memory_plugin.search_family(namespace text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN substring(namespace FROM '^[a-z]+:[^:]+:[^:-]{8,}(?=[:-])');

-- The cost keeps PostgreSQL from making all keys of the table where the pending list of the index is long.
CREATE FUNCTION memory_plugin.search_family_keys(
    namespace text, kind text, pin boolean, propagation jsonb, content_tsv tsvector
) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000
AS $$
BEGIN
    RETURN memory_plugin.search_keys(
        memory_plugin.search_family(namespace), kind, pin, propagation, content_tsv
    );
END
$$;

CREATE INDEX memory_records_families ON memory_plugin.memory_records
    USING gin (memory_plugin.search_family_keys(namespace, kind, pin, propagation, content_tsv))
    WITH (gin_pending_list_limit = 32768)
    WHERE namespace LIKE '%:%:%';
