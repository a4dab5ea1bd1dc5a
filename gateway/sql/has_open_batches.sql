-- Whether a flush or an upload of the user is incomplete.
SELECT EXISTS (SELECT FROM batches JOIN sessions ON sessions.id = batches.session WHERE sessions.owner = $1)
