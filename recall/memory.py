"""A memory as recall knows it, and how a plugin stores it.

The contract has no fields for a key, a type or a session, so these are stored in `propagation`,
which a plugin returns unchanged.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, Literal, get_args
from uuid import NAMESPACE_URL, UUID, uuid5

import contract
from contract import format_time
from contract.scalars import MAX_DEPTH

MemoryType = Literal["factual", "episodic", "procedural", "semantic"]
MemoryKind = Literal["fact", "summary", "checkpoint"]
MemorySource = Literal["agent", "runtime", "user"]
MEMORY_TYPES: Final[tuple[MemoryType, ...]] = get_args(MemoryType)

SHARED: Final = ""
"""The owner of the operator's notes, which every key can read."""
SHARED_NAMESPACE: Final = "custom:recall:shared"
HEALTH_NAMESPACE: Final = "custom:recall:health"
MAX_OWNER: Final = 200
MAX_METADATA: Final = 16 * 1024
"""Bytes of JSON."""
MAX_METADATA_DEPTH: Final = MAX_DEPTH - 1
"""Levels of nesting: in the plugin, metadata is one level inside `propagation`."""
FORM: Final = 1

_PLAIN_OWNER = re.compile(r"[A-Za-z0-9_.\-]{1,200}")
_EXTRACTION_FIELDS = frozenset({"category", "polarity", "speaker", "source", "extractedAt"})
_TEXT_OR_NONE = (str, type(None))
_EXTRACTION_SOURCES = frozenset({"llm_response", "user_message"})


# Not frozen: a request creates two hundred of these, and frozen ones take twice as long.
@dataclass(slots=True, kw_only=True)
class Memory:
    """One memory. Treat it as immutable and use `replace`.

    `embedded_with` is the model of its vector, or None without a vector.
    """

    id: str
    api_key_id: str
    key: str
    content: str = field(repr=False)
    type: MemoryType = "factual"
    session_id: str = ""
    metadata: dict[str, Any] = field(default_factory=dict, repr=False)
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    access_count: int = 0
    last_accessed_at: datetime | None = None
    kind: MemoryKind = "fact"
    source: MemorySource = "user"
    embedded_with: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The object in REST, MCP and exports."""
        return {
            "id": self.id,
            "apiKeyId": self.api_key_id,
            "sessionId": self.session_id,
            "type": self.type,
            "key": self.key,
            "content": self.content,
            "metadata": self.metadata,
            "createdAt": format_time(self.created_at),
            "updatedAt": format_time(self.updated_at),
            "expiresAt": None if self.expires_at is None else format_time(self.expires_at),
            "accessCount": self.access_count,
            "lastAccessedAt": (
                None if self.last_accessed_at is None else format_time(self.last_accessed_at)
            ),
        }

    def propagation(self) -> dict[str, Any]:
        """What the plugin stores in addition to the content."""
        return {
            "v": FORM,
            "apiKeyId": self.api_key_id,
            "type": self.type,
            "key": self.key,
            "sessionId": self.session_id,
            "metadata": self.metadata,
            "createdAt": format_time(self.created_at),
            "updatedAt": format_time(self.updated_at),
            "embeddedWith": self.embedded_with,
        }

    def accessed(self, count: int, last: datetime | None) -> "Memory":
        """The same memory with its access count."""
        return replace(self, access_count=count, last_accessed_at=last)

    @property
    def caller_metadata(self) -> dict[str, Any]:
        """The metadata without the fields that recall adds to an extracted fact."""
        if "extractedAt" in self.metadata and self.metadata.get("source") in _EXTRACTION_SOURCES:
            return {k: v for k, v in self.metadata.items() if k not in _EXTRACTION_FIELDS}
        return self.metadata

    def is_as_old_as(self, other: "Memory") -> bool:
        """Whether it was not written since it was read as `other`."""
        return self.updated_at == other.updated_at and self.content == other.content

    def is_live(self, now: datetime) -> bool:
        """Whether it has not expired yet."""
        return self.expires_at is None or self.expires_at > now


def now() -> datetime:
    """The current instant, in UTC."""
    return datetime.now(UTC)


def memory_id(api_key_id: str, key: str) -> str:
    """The id for an owner and a key; it is deterministic, so a write is an upsert."""
    return str(uuid5(_owner_space(api_key_id), key))


def is_id(text: str) -> bool:
    """Whether it can be the id of a memory: a UUID in its usual form, in any case."""
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


def namespace_of(api_key_id: str) -> str:
    """The namespace of an owner."""
    if api_key_id == SHARED:
        return SHARED_NAMESPACE
    if _PLAIN_OWNER.fullmatch(api_key_id):
        return f"custom:apikey:{api_key_id}"
    return f"custom:apikey:h:{sha256(api_key_id.encode()).hexdigest()}"


def archive_of(api_key_id: str) -> str:
    """The namespace of the originals of an owner's summaries."""
    return f"custom:recall:archive:{sha256(api_key_id.encode()).hexdigest()}"


def is_owner(value: object) -> bool:
    """Whether it is a valid owner: 1 to 200 characters, no control characters."""
    return (
        isinstance(value, str)
        and 1 <= len(value) <= MAX_OWNER
        and not any(ord(c) < 32 or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000 for c in value)
    )


def is_metadata(value: Mapping[str, Any]) -> bool:
    """Whether it is small enough for metadata."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode()) <= MAX_METADATA


def is_shallow(value: object) -> bool:
    """Whether it is not nested too deeply for metadata."""
    level = [value]
    for _ in range(MAX_METADATA_DEPTH):
        level = [item for one in level for item in _items(one) if isinstance(item, dict | list)]
    return not level


def from_row(row: contract.Memory, api_key_id: str) -> Memory:
    """A plugin's row as a memory of this owner.

    A row that recall did not write is `factual`, with its id as its key.
    """
    return make(
        str(row.id),
        api_key_id,
        row.content,
        row.kind,
        row.source,
        row.created_at,
        row.expires_at,
        row.propagation,
    )


def make(
    id_: str,
    api_key_id: str,
    content: str,
    kind: MemoryKind,
    source: MemorySource,
    created_at: datetime,
    expires_at: datetime | None,
    note: Mapping[str, Any] | None,
) -> Memory:
    """A memory from the fields of a row; `note` is its `propagation`."""
    if note is None or note.get("v") != FORM or not _is_ours(note):
        return Memory(
            id=id_,
            api_key_id=api_key_id,
            key=id_,
            content=content,
            created_at=created_at,
            updated_at=created_at,
            expires_at=expires_at,
            kind=kind,
            source=source,
        )
    return Memory(
        id=id_,
        api_key_id=api_key_id,
        key=note["key"],
        content=content,
        type=note["type"],
        session_id=note["sessionId"],
        metadata=note["metadata"],
        created_at=_time(note["createdAt"], created_at),
        updated_at=_time(note["updatedAt"], created_at),
        expires_at=expires_at,
        kind=kind,
        source=source,
        embedded_with=note.get("embeddedWith"),
    )


def _items(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _is_ours(note: Mapping[str, Any]) -> bool:
    return (
        isinstance(note.get("key"), str)
        and note.get("type") in MEMORY_TYPES
        and isinstance(note.get("sessionId"), str)
        and isinstance(note.get("metadata"), dict)
        and isinstance(note.get("createdAt"), str)
        and isinstance(note.get("updatedAt"), str)
        and isinstance(note.get("embeddedWith"), _TEXT_OR_NONE)
    )


def _time(text: str, otherwise: datetime) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return otherwise
    if moment.tzinfo is UTC:
        return moment
    return otherwise if moment.tzinfo is None else moment.astimezone(UTC)


def _owner_space(api_key_id: str) -> UUID:
    return uuid5(NAMESPACE_URL, "urn:memory-recall:" + api_key_id)
