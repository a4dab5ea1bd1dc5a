-- serves: 0003
-- The rows that an append takes. A statement with 16 messages takes PostgreSQL a sixth less time than
-- with JSON. The driver takes a little longer than for JSON, and less than for an array per column.
CREATE TYPE appended_place AS (
    id               uuid,
    count            integer,
    is_visible       boolean,
    has_user_message boolean,
    preview          text,
    title            text,
    title_folded     text,
    askers           text[]
);
CREATE TYPE appended_message AS (
    id                uuid,
    conversation_id   uuid,
    further           integer,  -- how many of the request's messages in that conversation are before it
    role              text,
    channel           text,
    visibility        text,
    content           text,
    is_list           boolean,
    metadata          text,
    user_id           text,
    agent_id          text,
    parent_message_id uuid,
    memory_epoch      integer
);
