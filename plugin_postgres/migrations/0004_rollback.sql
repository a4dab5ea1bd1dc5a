-- serves: 0003
--
-- What an adopted database needs to go back to the Go plugin, and what it no longer needs.
--
-- The first migration says that memory_records can be distributed by id on Citus. It cannot: most of
-- the contract's rulings then fail, because a search and a namespace span shards. What would work is
-- both tables distributed by namespace, with a directory of ids beside them; that is not built.

-- When the tables were adopted, or met by this release with rows in them: what had expired before
-- that was still served, so the janitor's grace period begins here at the earliest.
CREATE TABLE memory_plugin.plugin_adoption (adopted_at timestamptz NOT NULL);

INSERT INTO memory_plugin.plugin_adoption
SELECT now()
WHERE EXISTS (SELECT FROM memory_plugin.memory_records);

-- Adopted indexes that double ours: on the namespace alone, or on what expires. The Go plugin makes
-- its own again when it starts.
DO $$
DECLARE
    doubled regclass;
BEGIN
    FOR doubled IN
        SELECT indexrelid::regclass
        FROM pg_index
        JOIN pg_class ON pg_class.oid = indexrelid
        JOIN pg_am ON pg_am.oid = relam AND amname = 'btree'
        WHERE indrelid IN (
                'memory_plugin.memory_records'::regclass,
                'memory_plugin.memory_namespaces'::regclass
            )
            AND NOT indisunique
            AND relname NOT IN (
                'memory_records_namespace_id',
                'memory_records_expires_at',
                'memory_namespaces_expires_at'
            )
            AND pg_get_indexdef(indexrelid) ~ ' USING btree \((namespace|expires_at)\)'
    LOOP
        EXECUTE format('DROP INDEX %s', doubled);
    END LOOP;
END
$$;

-- The Go plugin makes an index of this name unless there is one, and cannot: the column takes
-- embeddings of any dimension now. This one is empty and stays so.
CREATE INDEX IF NOT EXISTS idx_memory_records_embedding
    ON memory_plugin.memory_records (id) WHERE false;
