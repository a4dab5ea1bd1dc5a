"""What an apply has done so far, for plugins that cannot list what they have.

One file per source, target and selection, one line per finished chunk of rows, each on the disk
before the next chunk starts. A chunk is recognised by the hash of its rows: if a row was changed,
added or removed since, it is a different chunk, which is sent again. Where a chunk ends depends
only on the ids in it, so the chunks around it stay the same. A finished apply leaves no file, so
the next one starts over.

The journal is trusted only after checking the target: see `apply`.
"""

import fcntl
import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Self
from uuid import UUID

import orjson

from backfill.errors import ConfigurationError
from backfill.writer import Item

CHUNK_ROWS = 1024
_VERSION = 1
_MOST_ROWS = 4 * CHUNK_ROWS
_MOST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Chunk:
    """Rows that are done: `rejects` of them refused, the others acknowledged."""

    digest: str
    rows: int
    rejects: list[dict[str, Any]]


@dataclass(frozen=True)
class Witness:
    """The newest row that was written to a namespace."""

    id: UUID
    content_sha256: str


def ends_chunk(last: UUID, rows: int, size: int) -> bool:
    """Whether a chunk ends here: after about `CHUNK_ROWS` rows, as the id decides, or by size."""
    return last.int % CHUNK_ROWS == 0 or rows >= _MOST_ROWS or size >= _MOST_BYTES


def digest_of(items: Sequence[Item]) -> str:
    """The hash of what is sent for a chunk, so that a change of the plan changes it too."""
    hashed = sha256()
    for item in items:
        hashed.update(sha256(item.write.to_json()).digest())
    return hashed.hexdigest()


class Journal:
    """The chunks that are done, in the order they were done."""

    def __init__(self, directory: Path, identity: dict[str, Any], *, restart: bool) -> None:
        self.done: dict[str, Chunk] = {}
        self.witnesses: dict[str, Witness] = {}
        self._identity = {"version": _VERSION, **identity}
        name = sha256(orjson.dumps(self._identity, option=orjson.OPT_SORT_KEYS)).hexdigest()
        self.path = directory / f"apply-{name[:16]}.ndjson"
        self._file = self._open()
        if restart:
            self.forget()
        else:
            self._load()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def record(self, chunk: Chunk, witnesses: dict[str, Witness]) -> None:
        """Record that a chunk is done; it is on disk when this returns."""
        self._append(
            {
                "digest": chunk.digest,
                "rows": chunk.rows,
                "rejects": chunk.rejects,
                "witnesses": {
                    name: [str(witness.id), witness.content_sha256]
                    for name, witness in witnesses.items()
                },
            }
        )

    def forget(self) -> None:
        """Start over."""
        self.done, self.witnesses = {}, {}
        self._file.truncate(0)
        self._append(self._identity)

    def finish(self) -> None:
        """The apply is done: the next one starts over."""
        self.path.unlink(missing_ok=True)

    def _open(self) -> IO[bytes]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = self.path.open("a+b")
        except OSError as error:
            raise ConfigurationError(
                f"cannot keep a journal in {self.path.parent}: {error.strerror};"
                " give another directory with --state-dir"
            ) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise ConfigurationError(
                f"another memory-backfill is applying the same rows: it holds {self.path}"
            ) from None
        return file

    def _load(self) -> None:
        self._file.seek(0)
        good = 0
        for line in self._file:
            try:
                self._take(orjson.loads(line), first=good == 0)
            except (ValueError, KeyError, TypeError):
                break
            good += len(line)
        # A line that a crash cut short was not done, and must not corrupt the next one.
        self._file.truncate(good)
        if not self.done:
            self.forget()

    def _take(self, line: dict[str, Any], *, first: bool) -> None:
        if first:
            if line != self._identity:
                raise ValueError("another journal")
            return
        chunk = Chunk(line["digest"], line["rows"], line["rejects"])
        for name, (id_, digest) in line["witnesses"].items():
            self.witnesses[name] = Witness(UUID(id_), digest)
        self.done[chunk.digest] = chunk

    def _append(self, line: dict[str, Any]) -> None:
        try:
            self._file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise ConfigurationError(
                f"cannot write the journal {self.path}: {error.strerror}"
            ) from None
