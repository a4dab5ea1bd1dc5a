"""Resources: uploaded files, whose text becomes memories."""

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any, Literal
from uuid import uuid4

import asyncpg
import orjson

from contract import format_time, parse_time
from gateway import kinds
from gateway.batch import Batch
from gateway.documents import Blank, Unreadable
from gateway.errors import BadRequest, NotFound, TooLarge, Unavailable
from gateway.extractor import Extractor
from gateway.flush import Flush
from gateway.metrics import Numbers
from gateway.names import SessionName, new_resource_id, resource_session, resource_uri
from gateway.statements import load
from gateway.users import User
from gateway.wire import PageRequest, Request
from postgres.database import Database
from postgres.errors import StoreUnavailable

MAX_FILE = 25 * 2**20
_OTHER_FIELDS = 2**20
MAX_FORM = MAX_FILE + _OTHER_FIELDS
# JSON takes up to three bytes for one of common text: \uXXXX for the two bytes of ж.
MAX_JSON = 3 * MAX_FILE + _OTHER_FIELDS
_PATIENCE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Upload:
    """A file and what the request says about it; `part` is the field that holds it."""

    part: Literal["file", "text"]
    file: IO[bytes] = field(repr=False)
    size: int
    filename: str | None
    content_type: str | None
    charset: str | None
    title: str | None


class Deleted(Exception):
    """A resource or its user was deleted while the file was uploaded."""


class Resources:
    """The resources of all users."""

    def __init__(
        self,
        database: Database,
        extractor: Extractor,
        flush: Flush,
        numbers: Numbers,
        redact: Callable[[str], str],
        lock: Callable[[str], int],
    ) -> None:
        self._database = database
        self._extractor = extractor
        self._flush = flush
        self._numbers = numbers
        self._redact = redact
        self._lock = lock
        self._under_way = set[asyncio.Task[Any]]()

    async def upload(
        self, user: User, place: Request, upload: Upload
    ) -> tuple[int, dict[str, Any]]:
        """The status code and the resource. The same file is always the same resource.

        Raises `Deleted` if the resource or its user is deleted at this moment.
        """
        default = "text/plain" if upload.part == "text" else None
        kind = kinds.content_type(upload.content_type, upload.filename, default)
        if upload.size == 0:
            raise BadRequest.about(upload.part, "must not be empty")
        if upload.size > MAX_FILE:
            raise TooLarge(f"{upload.part}: must be at most {MAX_FILE} bytes")
        sha256 = await asyncio.to_thread(_sha256, upload.file)
        known = await self._find_same(user, place, sha256)
        is_known = known is not None
        if known is None or known["error"] is not None:
            chunks, error = await self._read(upload, kind)
            # The user or the resource may be deleted at this moment.
            with suppress(asyncpg.ForeignKeyViolationError):
                async with self._database.transaction() as connection:
                    is_known = await self._keep(
                        connection, user, place, _Read(upload, kind, sha256, chunks, error)
                    )
            known = await self._find_same(user, place, sha256)
        if known is not None and known["is_pending"]:
            await self._deliver(known["session"])
            known = await self._find_same(user, place, sha256)
        if known is None:
            raise Deleted
        status = 202 if known["is_pending"] else 200 if is_known else 201
        return status, shown(known)

    async def get(self, user: User, place: Request, resource_id: str) -> dict[str, Any]:
        row = await self._database.fetchrow(
            load("find_resource"), user.id, place.app_id, place.project_id, resource_id
        )
        if row is None:
            raise NotFound("this resource does not exist")
        return shown(row)

    async def page(self, user: User, request: PageRequest) -> dict[str, Any]:
        """One page, newest first."""
        at, session = _read_cursor(request.cursor)
        rows = await self._database.fetch(
            load("list_resources"),
            user.id,
            request.app_id,
            request.project_id,
            at,
            session,
            request.limit + 1,
        )
        page = rows[: request.limit]
        more = len(rows) > request.limit
        return {
            "resources": [shown(row) for row in page],
            "next_cursor": _make_cursor(page[-1]) if more else None,
        }

    async def _find_same(self, user: User, place: Request, sha256: bytes) -> Any:
        return await self._database.fetchrow(
            load("find_same_file"), user.id, place.app_id, place.project_id, sha256
        )

    async def _read(self, upload: Upload, kind: str) -> tuple[list[str], str | None]:
        upload.file.seek(0)
        try:
            chunks = await self._extractor.chunks(
                upload.file, kinds.format_of(kind), upload.charset
            )
        except Blank:
            raise BadRequest.about(upload.part, "must not be blank") from None
        except Unreadable as error:
            self._numbers.resources.labels("failed").inc()
            return [], str(error)
        self._numbers.resources.labels("extracted").inc()
        return chunks, None

    async def _keep(
        self, connection: asyncpg.Connection, user: User, place: Request, read: "_Read"
    ) -> bool:
        """Store what was read; True if the file was uploaded before."""
        same = [user.user_id, place.app_id, place.project_id, read.sha256.hex()]
        lock = self._lock("resource " + orjson.dumps(same).decode())
        await connection.execute("SELECT pg_advisory_xact_lock($1)", lock)
        where = (user.id, place.app_id, place.project_id)
        title = self._redacted(read.upload.title or read.upload.filename)
        names = (title, self._redacted(read.upload.filename), read.kind)
        known = await connection.fetchrow(load("find_same_file"), *where, read.sha256)
        if known is not None:
            if known["error"] is None:
                return True  # uploaded concurrently
            name = resource_session(user.user_id, known["resource_id"])
            session, at = known["session"], known["created_at"]
            await connection.execute(
                load("retry_resource"), session, *names, len(read.chunks), read.error
            )
        else:
            resource_id = new_resource_id()
            name = resource_session(user.user_id, resource_id)
            namespace = SessionName(user.user_id, *where[1:], name).new_namespace()
            [made] = await connection.fetch(
                load("create_resource_session"), *where, name, namespace
            )
            session, at = made["id"], made["created_at"]
            await connection.execute(
                load("create_resource"),
                session,
                *where,
                resource_id,
                read.sha256,
                *names,
                read.upload.size,
                len(read.chunks),
                read.error,
            )
        if read.chunks:
            batch = Batch(uuid4(), SessionName(user.user_id, *where[1:], name))
            batch.add_chunks(read.chunks, at, title)
            await connection.execute(
                load("take_batch"), session, batch.id, *batch.arguments(), [], at, timeout=60
            )
        return known is not None

    async def _deliver(self, session: int) -> None:
        """Write the chunks to the plugin; if it takes long, continue in the background."""
        task = asyncio.create_task(self._flush.run(session, take=False))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        with suppress(TimeoutError, Unavailable, StoreUnavailable):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await asyncio.shield(task)

    def _redacted(self, text: str | None) -> str | None:
        return None if text is None else self._redact(text)


@dataclass(frozen=True, slots=True)
class _Read:
    """A file that was read: its chunks, or why there are none."""

    upload: Upload
    kind: str
    sha256: bytes
    chunks: list[str] = field(repr=False)
    error: str | None


def shown(row: Any) -> dict[str, Any]:
    """A Resource."""
    session = resource_session(row["user_id"], row["resource_id"])
    status = "pending" if row["is_pending"] else "extracted"
    return {
        "resource_id": row["resource_id"],
        "session_id": session,
        "uri": resource_uri(session),
        "status": status if row["error"] is None else "failed",
        "title": row["title"],
        "filename": row["filename"],
        "content_type": row["content_type"],
        "size": row["size"],
        "sha256": row["sha256"].hex(),
        "chunk_count": row["chunk_count"],
        "created_at": format_time(row["created_at"]),
        "error": row["error"],
    }


def _sha256(file: IO[bytes]) -> bytes:
    file.seek(0)
    digest = hashlib.sha256()
    while part := file.read(2**20):
        digest.update(part)
    return digest.digest()


def _make_cursor(row: Any) -> str:
    place = orjson.dumps([format_time(row["created_at"]), row["session"]])
    return base64.urlsafe_b64encode(place).decode().rstrip("=")


def _read_cursor(cursor: str | None) -> tuple[datetime | None, int | None]:
    if cursor is None:
        return None, None
    try:
        at, session = orjson.loads(base64.urlsafe_b64decode(cursor + "=="))
        if type(session) is not int or not 0 < session < 2**63:
            raise ValueError
        return parse_time(at), session
    except (ValueError, TypeError, binascii.Error):
        raise BadRequest.about("cursor", "must be the next_cursor of the previous page") from None
