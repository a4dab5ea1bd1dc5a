"""The rules of the contract on two dictionaries.

No method awaits anything, so each is atomic: a reader sees all of a write or none of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID, uuid4

from contract import (
    BatchWrite,
    CountGroup,
    CountRequest,
    CountResponse,
    Forbidden,
    JsonObject,
    ListRequest,
    ListResponse,
    Memory,
    MemoryDigest,
    MemoryKind,
    MemorySource,
    MemoryWrite,
    MemoryWriteResponse,
    Namespace,
    NamespacePatch,
    NamespaceUpsert,
    NotFound,
    SearchRequest,
)
from harness.example.browse import Cursor, fingerprint, group, matches, newest_first
from harness.example.search import rank


@dataclass(frozen=True)
class Row:
    """One memory as it is kept."""

    id: UUID
    namespace: str
    content: str
    kind: MemoryKind
    source: MemorySource
    created_at: datetime
    expires_at: datetime | None
    propagation: JsonObject | None
    pin: bool
    embedding: list[float] | None
    number: int = 0
    """Rows are numbered in the order in which they are first written."""

    def to_memory(self, score: float | None = None) -> Memory:
        """The memory as it is sent, without the embedding."""
        return Memory(
            id=self.id,
            namespace=self.namespace,
            content=self.content,
            kind=self.kind,
            source=self.source,
            created_at=self.created_at,
            pin=self.pin,
            expires_at=self.expires_at,
            propagation=self.propagation,
            score=score,
        )


@dataclass
class Space:
    """A namespace and the memories in it."""

    name: str
    stored: Namespace
    rows: dict[UUID, Row] = field(default_factory=dict)


class Store:
    """Namespaces and memories; raises the errors of the contract."""

    def __init__(self) -> None:
        self.spaces: dict[str, Space] = {}
        self.home: dict[UUID, str] = {}
        self.written = 0

    def now(self) -> datetime:
        """The one clock that decides what is newest and what has expired."""
        return datetime.now(UTC)

    # Namespaces

    def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
        """Create or refresh: absent keeps, null clears. An expired one is created again."""
        space = self.live_space(name)
        if space is None:
            self.drop(name)
            space = self.spaces[name] = Space(
                name, Namespace(name=name, kind=body.kind, created_at=self.now())
            )
        return self.change(space, body)

    def patch_namespace(self, name: str, body: NamespacePatch) -> Namespace:
        """Change the given fields. A later `expires_at`, or null, restores an expired namespace."""
        space = self.spaces.get(name)
        if space is None:
            raise NotFound(f"namespace {name} does not exist")
        rescued = "expires_at" in body.model_fields_set and not self.is_past(body.expires_at)
        if self.is_past(space.stored.expires_at) and not rescued:
            raise NotFound(f"namespace {name} has expired")
        return self.change(space, body)

    def delete_namespace(self, name: str) -> None:
        """Remove a namespace and every memory in it."""
        if self.live_space(name) is None:
            raise NotFound(f"namespace {name} does not exist")
        self.drop(name)

    def change(self, space: Space, body: NamespaceUpsert | NamespacePatch) -> Namespace:
        """Copy the fields that the body has, null included."""
        named = {name: getattr(body, name) for name in body.model_fields_set}
        kept = {name: getattr(space.stored, name) for name in space.stored.model_fields_set}
        values = {name: value for name, value in (kept | named).items() if value is not None}
        space.stored = Namespace(**values)
        return space.stored

    def drop(self, name: str) -> None:
        """Drop a namespace with its rows, if it exists."""
        space = self.spaces.pop(name, None)
        for row in list(space.rows.values()) if space else ():
            del self.home[row.id]

    # Memories

    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        """Insert, or replace the whole memory if the namespace has its id."""
        space = self.live_space(name)
        if space is None:
            raise NotFound(f"namespace {name} does not exist; PUT it first")
        key = body.id or uuid4()
        if self.home.get(key, name) != name:
            raise Forbidden("id: this memory belongs to another namespace")
        old = space.rows.get(key)
        made = body.created_at if isinstance(body, BatchWrite) else None
        self.written += 1
        self.keep(
            space,
            Row(
                id=key,
                namespace=name,
                content=body.content,
                kind=body.kind,
                source=body.source,
                created_at=old.created_at if old else made or self.now(),
                expires_at=body.expires_at,
                propagation=body.propagation,
                pin=bool(body.pin),
                embedding=body.embedding,
                number=old.number if old else self.written,
            ),
        )
        return MemoryWriteResponse(id=key, namespace=name)

    def keep(self, space: Space, row: Row) -> None:
        """Store a row, replacing the one with the same id."""
        space.rows[row.id] = row
        self.home[row.id] = space.name

    def forget(self, key: UUID, requested_by: str) -> None:
        """Delete one memory, if it is in the asking namespace."""
        row = self.owned(key, requested_by)
        del self.spaces[row.namespace].rows[row.id]
        del self.home[row.id]

    def get(self, key: UUID, name: str) -> Memory:
        """One memory, if it is in the asking namespace."""
        return self.owned(key, name).to_memory()

    def owned(self, key: UUID, name: str) -> Row:
        """The live row with this id: 404 if there is none, 403 if it is in another namespace."""
        home = self.home.get(key)
        row = next((row for row in self.live_rows([home] if home else []) if row.id == key), None)
        if row is None:
            raise NotFound("memory does not exist")
        if row.namespace != name:
            raise Forbidden("memory belongs to another namespace")
        return row

    def search(self, body: SearchRequest) -> list[Memory]:
        """Best first, pinned before unpinned, at most `limit`."""
        rows = self.matching(body)
        found = rank(rows, body.query, body.embedding, body.limit)
        return [row.to_memory(score) for row, score in found]

    def list_page(self, body: ListRequest) -> ListResponse:
        """One page; the cursor says where the previous page ended."""
        rows, request = self.matching(body), self.fingerprint(body)
        latest = self.written
        if body.order == "newest":
            rows.sort(key=self.newest_first)
        else:
            rows.sort(key=lambda row: row.id)
        if body.cursor is not None:
            cursor = Cursor.read(body.cursor, request)
            latest = cursor.latest
            rows = [row for row in rows if self.comes_after(cursor, row, body.order)]
        page = rows[: body.limit]
        more = len(rows) > len(page)
        return ListResponse(
            memories=[row.to_memory() if body.fields == "full" else digest(row) for row in page],
            next_cursor=str(Cursor(request, latest, page[-1].created_at, page[-1].id))
            if more
            else None,
        )

    def fingerprint(self, body: ListRequest) -> str:
        """What a cursor belongs to."""
        return fingerprint(body)

    def comes_after(self, cursor: Cursor, row: Row, order: str) -> bool:
        """Whether a row belongs to a page after the cursor's."""
        if order == "id":
            return row.id > cursor.id
        last = newest_first(cursor.created_at, cursor.id)
        return row.number <= cursor.latest and self.newest_first(row) > last

    def newest_first(self, row: Row) -> tuple[timedelta, UUID]:
        """The key of the order `newest`."""
        return newest_first(row.created_at, row.id)

    def count(self, body: CountRequest) -> CountResponse:
        """How many live rows match, and how many have each value of a field."""
        rows = self.matching(body)
        if body.group_by is None:
            return CountResponse(count=len(rows))
        return CountResponse(count=len(rows), groups=self.group(rows, body.group_by))

    def group(self, rows: list[Row], field: str) -> list[CountGroup]:
        """How many rows have each value of a field."""
        return group(rows, field)

    # What is alive

    def matching(self, body: SearchRequest | ListRequest | CountRequest) -> list[Row]:
        """The live rows that a request is about."""
        return [row for row in self.live_rows(body.namespaces) if self.is_wanted(row, body)]

    def is_wanted(self, row: Row, body: SearchRequest | ListRequest | CountRequest) -> bool:
        """Whether a row has the kinds, the times and the fields that a request asks for."""
        return matches(row, body)

    def live_space(self, name: str) -> Space | None:
        """The namespace, unless it does not exist or has expired."""
        space = self.spaces.get(name)
        return None if space is None or self.is_past(space.stored.expires_at) else space

    def live_rows(self, names: Iterable[str]) -> list[Row]:
        """The rows that a reader may see; a repeated name counts once."""
        spaces = [self.live_space(name) for name in dict.fromkeys(names)]
        return [
            row
            for space in spaces
            if space is not None
            for row in space.rows.values()
            if not self.is_past(row.expires_at)
        ]

    def is_past(self, expires_at: datetime | None) -> bool:
        """True from that instant on."""
        return expires_at is not None and expires_at <= self.now()


def digest(row: Row) -> MemoryDigest:
    """A row without its content."""
    return MemoryDigest(
        id=row.id,
        namespace=row.namespace,
        content_sha256=sha256(row.content.encode()).hexdigest(),
    )
