-- What the contract cannot carry. The text of a memory is here only until the plugin has it.

CREATE TABLE users (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id    text NOT NULL UNIQUE,
    key_sha256 bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Set by a deletion. Nobody can sign in from then on; the row goes when the plugin has forgotten.
    deleted_at timestamptz
);

CREATE INDEX users_deleted ON users (id) WHERE deleted_at IS NOT NULL;

-- A chat session or a resource. Each has a namespace of its own in the plugin, which is never used
-- again after a deletion: the session that comes next under the same name gets a new one.
CREATE TABLE sessions (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner           bigint NOT NULL REFERENCES users (id),
    app_id          text NOT NULL,
    project_id      text NOT NULL,
    name            text NOT NULL,
    is_resource     boolean NOT NULL DEFAULT false,
    namespace       text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    last_message_at timestamptz NOT NULL DEFAULT now(),
    -- Whether messages wait that no flush has taken.
    is_buffering    boolean NOT NULL DEFAULT false,
    -- Whether the plugin may have the namespace, and a search has to look there.
    is_stored       boolean NOT NULL DEFAULT false,
    UNIQUE (owner, app_id, project_id, name)
) WITH (fillfactor = 80);

CREATE INDEX sessions_resources ON sessions (owner, app_id, project_id) WHERE is_resource;
CREATE INDEX sessions_buffering ON sessions (last_message_at) WHERE is_buffering;

-- Every message that was ever added: what a repeated add is recognised by. The content is there from
-- the add until the flush that took it is complete.
CREATE TABLE messages (
    session    bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    digest     bytea NOT NULL,
    number     bigint GENERATED ALWAYS AS IDENTITY,
    batch      uuid,
    role       text,
    sender_id  text,
    sent_at    timestamptz,
    content    text,
    PRIMARY KEY (session, digest)
);

CREATE INDEX messages_buffered ON messages (session, number) WHERE content IS NOT NULL;

-- What a flush or an upload has taken and not yet brought to the plugin: as long as the row is there,
-- the gateway goes on by itself.
CREATE TABLE batches (
    id            uuid PRIMARY KEY,
    session       bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    message_count integer NOT NULL,
    memory_count  integer NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    attempts      integer NOT NULL DEFAULT 0,
    try_at        timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX batches_session ON batches (session);
CREATE INDEX batches_due ON batches (try_at);

CREATE TABLE memories (
    id         uuid PRIMARY KEY,
    session    bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    batch      uuid NOT NULL,
    position   integer NOT NULL,
    type       text NOT NULL CHECK (type IN ('turn', 'fact', 'chunk')),
    created_at timestamptz NOT NULL,
    edited_at  timestamptz,
    -- Set by a deletion; the row goes when the plugin has forgotten the memory.
    deleted_at timestamptz,
    -- What else `raw` shows: part, parts, title, sender_ids.
    extra      jsonb,
    -- What the plugin does not have yet; null once it has.
    text       text
);

CREATE INDEX memories_session ON memories (session, batch, position);
CREATE INDEX memories_unwritten ON memories (session) WHERE text IS NOT NULL;

CREATE TABLE resources (
    session      bigint PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    resource_id  text NOT NULL UNIQUE,
    owner        bigint NOT NULL REFERENCES users (id),
    app_id       text NOT NULL,
    project_id   text NOT NULL,
    sha256       bytea NOT NULL,
    title        text,
    filename     text,
    content_type text NOT NULL,
    size         bigint NOT NULL,
    chunk_count  integer NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL DEFAULT now(),
    error        text,
    UNIQUE (owner, app_id, project_id, sha256)
);

CREATE INDEX resources_newest ON resources (owner, app_id, project_id, created_at, session);

-- What the plugin has still to forget: a namespace, or one memory of it.
CREATE TABLE deletions (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner      bigint NOT NULL REFERENCES users (id),
    -- No reference: the session itself may be gone.
    session    bigint NOT NULL,
    namespace  text NOT NULL,
    memory_id  uuid,
    attempts   integer NOT NULL DEFAULT 0,
    try_at     timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX deletions_due ON deletions (try_at);
CREATE INDEX deletions_user ON deletions (owner);

-- What the model has still to be asked about. Gone with any memory that was made of the same turn.
CREATE TABLE questions (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session    bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    batch      uuid NOT NULL,
    number     integer NOT NULL,
    memories   uuid[] NOT NULL,
    sent_at    timestamptz NOT NULL,
    text       text NOT NULL,
    attempts   integer NOT NULL DEFAULT 0,
    try_at     timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX questions_session ON questions (session);
CREATE INDEX questions_due ON questions (try_at);

CREATE TABLE idempotency_keys (
    owner           bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    key             text NOT NULL,
    request_sha256  bytea NOT NULL,
    duplicate_count integer,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner, key)
);

CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
