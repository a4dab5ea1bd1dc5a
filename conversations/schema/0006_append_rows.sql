-- serves: 0003
-- What an append takes, in one array instead of two: the driver looks at every row of an array several
-- times, and at the names in one of its columns as at another array.
CREATE TYPE appended AS (
    conversation_id   uuid,
    further           integer,  -- how many of the request's messages in that conversation are before it
    -- What becomes of the conversation: in the row of the first message there, NULL in the others.
    count             integer,
    is_visible        boolean,
    has_user_message  boolean,
    preview           text,
    title             text,
    title_folded      text,
    askers            text,     -- with U+001F between them, which no user id has
    -- The message.
    id                uuid,
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
