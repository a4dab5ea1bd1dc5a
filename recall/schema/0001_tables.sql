-- Recall's own tables. No memory content is here but the blocks of turns under way.

-- Whose memories there are, and where they lie. `edits` counts changes by REST and MCP: a block
-- that was chosen before the last one is chosen anew.
CREATE TABLE owners (
    owner      text PRIMARY KEY,
    namespace  text NOT NULL UNIQUE,
    edits      bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO owners (owner, namespace) VALUES ('', 'custom:recall:shared');

-- The same for all owners together. A sequence, because a row would be a queue for every writer.
CREATE SEQUENCE edits;

-- What recall keeps about a memory that lies in the plugin: whose it is, its size, its use.
CREATE TABLE memories (
    id               uuid PRIMARY KEY,
    owner            text NOT NULL,
    type             text NOT NULL,
    session_id       text NOT NULL,
    tokens           integer NOT NULL,
    expires_at       timestamptz,
    embedded_with    text,
    access_count     bigint NOT NULL DEFAULT 0,
    last_accessed_at timestamptz
);
CREATE INDEX memories_by_owner ON memories (owner) INCLUDE (type, tokens, expires_at);
CREATE INDEX memories_by_session ON memories (owner, session_id) WHERE session_id <> '';
CREATE INDEX memories_by_expiry ON memories (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE api_keys (
    id         text PRIMARY KEY,
    name       text NOT NULL,
    hash       bytea NOT NULL UNIQUE,
    disabled   boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- One row: the settings that differ from the defaults, and what workers compare their copies with.
CREATE TABLE state (
    id               boolean PRIMARY KEY DEFAULT true CHECK (id),
    settings         jsonb NOT NULL DEFAULT '{}',
    settings_version bigint NOT NULL DEFAULT 1,
    keys_version     bigint NOT NULL DEFAULT 1
);
INSERT INTO state DEFAULT VALUES;

-- The turns of the last ten minutes. Lost in a crash, which costs a choice and nothing else.
CREATE UNLOGGED TABLE turns (
    digest     bytea PRIMARY KEY,
    seen       text,
    block      text,
    ids        uuid[],
    until      timestamptz,
    learned    boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX turns_by_age ON turns (created_at);

CREATE TABLE usage (
    owner           text NOT NULL,
    session_id      text NOT NULL,
    hits            bigint NOT NULL DEFAULT 0,
    misses          bigint NOT NULL DEFAULT 0,
    tokens_injected bigint NOT NULL DEFAULT 0,
    updated_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner, session_id)
);

-- Summaries; the originals lie in the plugin's archive namespace of the owner.
CREATE TABLE runs (
    run_id           uuid NOT NULL,
    owner            text NOT NULL,
    mode             text NOT NULL,
    count            integer NOT NULL,
    summary_id       uuid,
    created_at       timestamptz NOT NULL,
    restorable_until timestamptz NOT NULL,
    PRIMARY KEY (run_id, owner)
);
CREATE INDEX runs_by_end ON runs (restorable_until);
