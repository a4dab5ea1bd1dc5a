CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY,
    created_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id),
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS messages_of_session ON messages (session_id, id);

-- Separate from messages, so that nothing that reads messages can show an event.
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id),
    name TEXT NOT NULL,
    payload TEXT NOT NULL,
    context_visible INTEGER NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_of_session ON events (session_id, id);

-- The words of messages by message id; the text itself is only in `messages`.
CREATE VIRTUAL TABLE IF NOT EXISTS message_words USING fts5 (
    words, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
);
