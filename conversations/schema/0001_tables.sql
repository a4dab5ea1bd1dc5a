-- Groups, conversations, memberships, messages, epochs, transfers, recordings and the outbox.
--
-- All forks of a conversation are one group. Members, levels and the owner belong to the group, so
-- that a change holds for every fork at once.

CREATE TABLE groups (
    id            uuid PRIMARY KEY,
    owner_user_id text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Levels: 1 reader, 2 writer, 3 manager, 4 owner.
CREATE TABLE memberships (
    group_id   uuid NOT NULL REFERENCES groups ON DELETE CASCADE,
    user_id    text NOT NULL,
    level      smallint NOT NULL CHECK (level BETWEEN 1 AND 4),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (group_id, user_id)
);
CREATE INDEX memberships_of_user ON memberships (user_id, level, group_id);
CREATE UNIQUE INDEX memberships_one_owner ON memberships (group_id) WHERE level = 4;

-- A fork is one row here and nothing else. What it inherits is written down as segments: the
-- messages of conversation ancestor_ids[i] from number ancestor_from[i] up to, but not including,
-- ancestor_to[i]. Its own messages follow, from first_sequence on. A page of any path is therefore
-- one index range per segment, read until the page is full, however deep the fork is.
CREATE TABLE conversations (
    id                        uuid PRIMARY KEY,
    group_id                  uuid NOT NULL REFERENCES groups ON DELETE CASCADE,
    owner_user_id             text NOT NULL,  -- that of the group, for the index of the list
    title                     text,
    title_folded              text NOT NULL DEFAULT '',
    title_by_user             boolean NOT NULL DEFAULT false,
    has_user_message          boolean NOT NULL DEFAULT false,
    metadata                  text NOT NULL DEFAULT '{}',  -- JSON as it was sent
    metadata_folded           text NOT NULL DEFAULT '',
    last_preview              text,
    created_at                timestamptz NOT NULL,
    updated_at                timestamptz NOT NULL,
    forked_at_conversation_id uuid REFERENCES conversations,
    forked_at_message_id      uuid,
    forked_from_message_id    uuid,
    ancestor_ids              uuid[] NOT NULL DEFAULT '{}',
    ancestor_from             integer[] NOT NULL DEFAULT '{}',
    ancestor_to               integer[] NOT NULL DEFAULT '{}',
    first_sequence            integer NOT NULL DEFAULT 1,
    next_sequence             integer NOT NULL DEFAULT 1,
    last_at                   timestamptz NOT NULL,  -- no later message is older
    first_message_id          uuid  -- newMessage of the fork request: a repeat finds this fork
);
CREATE INDEX conversations_of_owner ON conversations (owner_user_id, updated_at DESC, id);
CREATE INDEX conversations_of_group ON conversations (group_id, updated_at DESC, id);
CREATE INDEX conversations_below ON conversations (forked_at_conversation_id)
    WHERE forked_at_conversation_id IS NOT NULL;

-- No reference to conversations: an append holds the lock of its conversation's row, so a message
-- without one cannot come to be, and checking each row would cost a tenth of an append.
--
-- A summary has the number of the last message it covers and lies beside it; every other message
-- has a number of its own.
CREATE TABLE messages (
    id                    uuid PRIMARY KEY,
    conversation_id       uuid NOT NULL,
    group_id              uuid NOT NULL,
    sequence              integer NOT NULL,
    role                  text NOT NULL,
    channel               text NOT NULL CHECK (channel IN ('HISTORY', 'MEMORY', 'SUMMARY')),
    visibility            text NOT NULL CHECK (visibility IN ('user', 'agent', 'system')),
    content               text NOT NULL,     -- a string as it is, a list as JSON as it was sent
    is_list               boolean NOT NULL,
    metadata              text,              -- JSON as it was sent; NULL for none
    user_id               text,
    agent_id              text,
    parent_message_id     uuid,
    memory_epoch          integer,
    until_conversation_id uuid,              -- of a summary: where the last message it covers is
    until_message_id      uuid,
    created_at            timestamptz NOT NULL
);
CREATE UNIQUE INDEX messages_history ON messages (conversation_id, sequence)
    WHERE channel = 'HISTORY';
CREATE UNIQUE INDEX messages_memory ON messages (conversation_id, agent_id, memory_epoch, sequence)
    WHERE channel = 'MEMORY';
CREATE INDEX messages_summaries
    ON messages (until_conversation_id, sequence DESC, created_at DESC, id)
    WHERE channel = 'SUMMARY';
CREATE INDEX messages_stored_summaries ON messages (conversation_id) WHERE channel = 'SUMMARY';

-- An epoch of an agent's memory. It begins before the message with the number from_sequence; it
-- may have no messages at all.
CREATE TABLE epochs (
    conversation_id uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
    agent_id        text NOT NULL,
    epoch           integer NOT NULL,
    from_sequence   integer NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (conversation_id, agent_id, epoch)
);

CREATE TABLE transfers (
    id              uuid PRIMARY KEY,
    group_id        uuid NOT NULL REFERENCES groups ON DELETE CASCADE,
    conversation_id uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
    from_user_id    text NOT NULL,
    to_user_id      text NOT NULL,
    status          text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'accepted', 'declined', 'cancelled')),
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX transfers_one_pending ON transfers (group_id) WHERE status = 'pending';
CREATE INDEX transfers_from ON transfers (from_user_id, created_at DESC, id)
    WHERE status = 'pending';
CREATE INDEX transfers_to ON transfers (to_user_id, created_at DESC, id) WHERE status = 'pending';
CREATE INDEX transfers_conversation ON transfers (conversation_id);

CREATE TABLE recordings (
    id                uuid PRIMARY KEY,
    conversation_id   uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
    group_id          uuid NOT NULL,
    agent_id          text NOT NULL,
    user_id           text,          -- on whose behalf
    message_id        uuid,
    store             boolean NOT NULL DEFAULT false,
    status            text NOT NULL DEFAULT 'in_progress' CHECK (
        status IN ('in_progress', 'completed', 'failed', 'cancelled', 'aborted', 'superseded')
    ),
    length            integer NOT NULL DEFAULT 0,   -- in characters
    cancel_requested  boolean NOT NULL DEFAULT false,
    cancel_after      timestamptz,   -- when a request to cancel is carried out without the agent
    ending            text,          -- a digest of the call that ended it, to know a repeat of it
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at        timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX recordings_newest ON recordings (conversation_id, created_at DESC, id);
CREATE UNIQUE INDEX recordings_one_in_progress ON recordings (conversation_id)
    WHERE status = 'in_progress';
CREATE INDEX recordings_ended ON recordings (updated_at) WHERE status <> 'in_progress';

CREATE TABLE recorded (
    recording_id uuid NOT NULL REFERENCES recordings ON DELETE CASCADE,
    first        integer NOT NULL,   -- how many characters come before
    content      text NOT NULL,
    PRIMARY KEY (recording_id, first)
);

-- What the plugin has to be told, in order: `write` a message, `forget` one, `drop` a group. A row
-- goes away in the moment the plugin has answered. A message the plugin refuses stays, marked, so
-- that PostgreSQL goes on finding it. `has_words`: its words are in the table of that name.
CREATE TABLE outbox (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    action     text NOT NULL CHECK (action IN ('write', 'forget', 'drop')),
    group_id   uuid NOT NULL,
    message_id uuid,
    refused    boolean NOT NULL DEFAULT false,
    has_words  boolean NOT NULL DEFAULT false
);
CREATE INDEX outbox_without_words ON outbox (id) WHERE NOT has_words;
CREATE INDEX outbox_of_group ON outbox (group_id);
-- Every row is deleted soon: without this the table would be mostly dead rows.
ALTER TABLE outbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
