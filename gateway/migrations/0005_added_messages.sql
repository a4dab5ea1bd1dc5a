-- serves: 0001
-- What an add stores, as arrays of these: that takes the client less time than an array for each column.
CREATE TYPE new_session AS (
    owner      bigint,
    key_sha256 bytea,
    app_id     text,
    project_id text,
    name       text,
    namespace  text
);

CREATE TYPE new_message AS (
    place     bigint,
    digest    bytea,
    role      text,
    sender_id text,
    millis    bigint,
    content   text
);
