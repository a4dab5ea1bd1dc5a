-- The two tables, in the shape in which the existing Go plugin of the same contract has them,
-- so that an operator can point this plugin at that one's database and lose nothing: where the
-- tables exist, nothing happens here.
--
-- Kept fit for distributed PostgreSQL (Citus): memory_records can be distributed by id and
-- memory_namespaces be a reference table, because conflict targets are plain columns and
-- no ON CONFLICT action calls now().
--
-- Times: everything that expires is compared with now(), the database's clock. A namespace with
-- expires_at = '-infinity' has been deleted and is only waiting for its last rows to go.

CREATE SCHEMA IF NOT EXISTS memory_plugin;

CREATE TABLE IF NOT EXISTS memory_plugin.memory_namespaces (
    name       text PRIMARY KEY,
    kind       text NOT NULL CHECK (kind IN ('workspace', 'team', 'org', 'custom')),
    expires_at timestamptz,
    metadata   jsonb,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS memory_plugin.memory_records (
    id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    namespace   text NOT NULL REFERENCES memory_plugin.memory_namespaces (name) ON DELETE CASCADE,
    content     text NOT NULL,
    kind        text NOT NULL CHECK (kind IN ('fact', 'summary', 'checkpoint')),
    source      text NOT NULL CHECK (source IN ('agent', 'runtime', 'user')),
    expires_at  timestamptz,
    propagation jsonb,
    pin         boolean NOT NULL DEFAULT false,
    created_at  timestamptz NOT NULL DEFAULT now()
);

-- For listing a namespace in id order, and for deleting it with all its rows.
CREATE INDEX IF NOT EXISTS memory_records_namespace_id
    ON memory_plugin.memory_records (namespace, id);

-- What the janitor looks for. Few rows expire, so the indexes stay small.
CREATE INDEX IF NOT EXISTS memory_records_expires_at
    ON memory_plugin.memory_records (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS memory_namespaces_expires_at
    ON memory_plugin.memory_namespaces (expires_at) WHERE expires_at IS NOT NULL;
