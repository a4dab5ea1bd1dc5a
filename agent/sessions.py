"""The sessions of an agent in one SQLite file: messages, hidden events, a full-text index."""

import json
import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.errors import SessionStoreError
from agent.sql import load
from agent.texts import Message
from agent.words import indexed, matching

_PATIENCE = 30.0  # seconds, while another process writes
_VERSION = 1


@dataclass(frozen=True)
class SessionEvent:
    """Something that happened in a session and is not part of the conversation."""

    name: str
    payload: dict[str, Any]
    context_visible: bool
    created_at: str


@dataclass(frozen=True)
class SessionHit:
    """A message that a search found."""

    session_id: str
    role: str
    text: str
    created_at: str


class SessionStore:
    """Any thread may call, and any number of processes may share the file.

    Times are RFC 3339 in UTC. A session that is named for the first time is created.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        with self._reporting_errors():
            if str(path) != ":memory:":
                self._path.parent.mkdir(parents=True, exist_ok=True)
                # Conversations are private; SQLite gives its other files the mode of this one.
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            self._connection = sqlite3.connect(
                path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
        try:
            with self._reporting_errors():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def create(self, session_id: str | None = None) -> str:
        """Create a session, or continue the one with this id; returns its id."""
        if session_id is not None and not session_id.strip():
            raise ValueError("session_id must not be blank")
        made = uuid.uuid4().hex if session_id is None else session_id
        with self._writing() as connection:
            connection.execute(load("insert_session"), {"session_id": made, "now": _now()})
        return made

    def append_message(self, session_id: str, role: str, content: str) -> int:
        """Store a message; returns its number, which increases."""
        row = {"session_id": session_id, "role": role, "content": _storable(content), "now": _now()}
        with self._writing() as connection:
            connection.execute(load("insert_session"), row)
            number = connection.execute(load("insert_message"), row).lastrowid
            words = {"id": number, "words": indexed(row["content"])}
            connection.execute(load("insert_words"), words)
        return int(number or 0)

    def append_event(
        self,
        session_id: str,
        name: str,
        payload: Mapping[str, Any],
        *,
        context_visible: bool = False,
    ) -> int:
        """Store an event, which neither the history nor a search shows; returns its number."""
        row = {
            "session_id": session_id,
            "name": name,
            "payload": json.dumps(dict(payload)),
            "context_visible": context_visible,
            "now": _now(),
        }
        with self._writing() as connection:
            connection.execute(load("insert_session"), row)
            number = connection.execute(load("insert_event"), row).lastrowid
        return int(number or 0)

    def history(self, session_id: str) -> list[Message]:
        """The messages of the user and the assistant, oldest first."""
        rows = self._rows("list_history", session_id=session_id)
        return [{"role": role, "content": content} for role, content in rows]

    def events(self, session_id: str) -> list[SessionEvent]:
        """Oldest first."""
        rows = self._rows("list_events", session_id=session_id)
        return [
            SessionEvent(name, json.loads(payload), bool(visible), created_at)
            for name, payload, visible, created_at in rows
        ]

    def search(self, query: str, *, limit: int = 10) -> list[SessionHit]:
        """Messages of all sessions with any of the words, best match first."""
        query = _storable(query).replace("\0", " ").strip()
        if not query or limit < 1:
            return []
        words = matching(query)
        if words:
            rows = self._rows("search_words", words=words, limit=limit)
        else:
            rows = self._rows("search_characters", characters=query, limit=limit)
        return [SessionHit(*row) for row in rows]

    def close(self) -> None:
        """May be called twice."""
        with self._lock, self._reporting_errors():
            self._connection.close()

    def _prepare(self) -> None:
        _switch_to_wal(self._connection)
        self._connection.execute("BEGIN IMMEDIATE")
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise SessionStoreError(f"{self._path} was made by a newer version of memory-agent")
        if version < _VERSION:
            for statement in load("schema").split(";\n"):
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA user_version = {_VERSION}")
        self._connection.execute("COMMIT")

    def _rows(self, statement: str, **parameters: Any) -> list[Any]:
        with self._lock, self._reporting_errors():
            return self._connection.execute(load(statement), parameters).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing."""
        with self._lock, self._reporting_errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _reporting_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeError) as error:
            raise SessionStoreError(f"the sessions in {self._path}: {error}") from error


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """SQLite does not wait for other processes when it switches a new file to WAL, so this does."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _storable(text: str) -> str:
    """Lone surrogates cannot be stored as UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
