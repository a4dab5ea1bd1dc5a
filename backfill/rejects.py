"""Rows that were not copied, one JSON object per line, for the operator to repair or drop."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir
from typing import IO, Any, Self

import orjson

from backfill.errors import ConfigurationError
from backfill.mapping import LegacyRow

_SLICE = 12


class Rejects:
    """Counts rejected rows by reason and, unless told otherwise, writes each to a file.

    With a path the file exists from the start; without one it is created in the current directory
    for the first reject. A dry run keeps only the count.
    """

    def __init__(self, path: Path | None, *, show_content: bool, keep: bool = True) -> None:
        self.path = path
        self.reasons: Counter[str] = Counter()
        self._show_content = show_content
        self._keep = keep
        self._file: IO[bytes] | None = None if path is None else _open(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def count(self) -> int:
        """How many rows were rejected."""
        return self.reasons.total()

    def add(self, row: LegacyRow, reason: str) -> dict[str, Any]:
        """Reject a row; returns the line, for callers that store it elsewhere too."""
        line = {
            "id": str(row.id),
            "workspace_id": None if row.workspace_id is None else str(row.workspace_id),
            "scope": row.scope,
            "reason": reason,
        }
        shown = dict(line)
        if self._show_content and row.content is not None:
            shown["content"] = row.content.decode(errors="replace")
        self.repeat(shown)
        return line

    def repeat(self, line: dict[str, Any]) -> None:
        """Repeat the rejection of a row by an earlier part of the run."""
        self.reasons[line["reason"]] += 1
        if self._file is None:
            if not self._keep:
                return
            self._file = self._open_somewhere()
        self._file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        # Not buffered: the operator may need the line after a crash.
        self._file.flush()

    def _open_somewhere(self) -> IO[bytes]:
        """A new file here, or in the temporary directory if this directory is not writable."""
        name = f"memory-backfill-rejects-{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z.ndjson"
        self.path = Path(name).absolute()
        try:
            return _open(self.path)
        except ConfigurationError:
            self.path = Path(gettempdir()) / name
            return _open(self.path)


def refusal(status: int, message: str, content: str) -> str:
    """The reason for a row that the plugin refused, without any of the row's content."""
    if _quotes(message, content):
        message = "its message quotes the content and is not shown"
    return f"refused by the plugin: {status} ({message})"


def _quotes(message: str, content: str) -> bool:
    short = content.strip()
    if len(short) <= _SLICE:
        return short in message
    ends = range(len(message) - _SLICE + 1)
    return any(message[at : at + _SLICE] in content for at in ends)


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("wb")
    except OSError as error:
        raise ConfigurationError(
            f"cannot write the rejects file {path}: {error.strerror}; give another with --rejects"
        ) from None
