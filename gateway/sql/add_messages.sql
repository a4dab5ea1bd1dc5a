-- Adds messages to several sessions at once. Returns the places of the sessions, except those whose user
-- has another key, and the messages that are new; NULL if all are, which keeps the usual answer short.
--
-- $1 are the sessions, which are created if necessary. Each message in $2 names the place of its session
-- in $1. Sessions are locked in a fixed order, so that two of these statements never deadlock.
WITH asked AS (
    SELECT session.*
    FROM unnest($1::new_session[])
    WITH ORDINALITY AS session (owner, key_sha256, app_id, project_id, name, namespace, place)
    JOIN users
        ON users.id = session.owner
        AND users.key_sha256 = session.key_sha256
        AND users.deleted_at IS NULL
),
home AS (
    INSERT INTO sessions (owner, app_id, project_id, name, namespace, is_buffering)
    SELECT owner, app_id, project_id, name, namespace, true
    FROM asked
    ORDER BY owner, app_id, project_id, name
    ON CONFLICT (owner, app_id, project_id, name)
    DO UPDATE SET last_message_at = clock_timestamp(), is_buffering = true
    RETURNING id, owner, app_id, project_id, name
),
place AS (
    SELECT home.id, asked.place FROM home JOIN asked USING (owner, app_id, project_id, name)
),
fresh AS (
    INSERT INTO messages (session, digest, role, sender_id, sent_at, content)
    SELECT
        place.id, message.digest, message.role, message.sender_id,
        to_timestamp(message.millis / 1000) + message.millis % 1000 * interval '1 millisecond',
        message.content
    FROM unnest($2::new_message[])
    WITH ORDINALITY AS message (place, digest, role, sender_id, millis, content, number)
    JOIN place USING (place)
    ORDER BY message.number
    ON CONFLICT (session, digest) DO NOTHING
    RETURNING session, digest
)
SELECT
    ARRAY(SELECT place FROM place) AS places,
    CASE WHEN (SELECT count(*) FROM fresh) < cardinality($2) THEN
        ARRAY(SELECT (place.place, fresh.digest) FROM fresh JOIN place ON place.id = fresh.session)
    END AS stored
