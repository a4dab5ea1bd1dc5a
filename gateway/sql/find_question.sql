SELECT
    question.session, question.sent_at,
    users.user_id, session.app_id, session.project_id, session.name
FROM questions AS question
JOIN sessions AS session ON session.id = question.session
JOIN users ON users.id = session.owner AND users.deleted_at IS NULL
WHERE question.id = $1
