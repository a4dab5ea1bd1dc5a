"""The extension `list`, `POST /v1/memories/list`: everything, page by page."""

from typing import Annotated, Literal

from pydantic import Field

from contract.filter import Filtered
from contract.memory import Memory
from contract.model import WireModel
from contract.scalars import WHOLE, MemoryId, MemoryKind, NamespaceName, Text

DEFAULT_PAGE = 100
MAX_PAGE = 1000


class ListRequest(Filtered):
    """All live memories of the named namespaces.

    `cursor` is opaque and comes from the previous page. `fields: digest` asks only for the id and
    the SHA-256 of the content, which is enough to verify exact parity.

    `order` and `kinds` are the extension `browse`: `newest` is `created_at` descending, then `id`
    ascending, and pins are ignored. `where`, `created_after` and `created_before` are the extension
    `filter`.
    """

    namespaces: Annotated[list[NamespaceName], Field(min_length=1)]
    cursor: Text | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE), WHOLE] = DEFAULT_PAGE
    fields: Literal["full", "digest"] = "full"
    order: Literal["id", "newest"] = "id"
    kinds: list[MemoryKind] | None = None


class MemoryDigest(WireModel):
    """A memory without its content: lower-case hex SHA-256 of the UTF-8 content instead."""

    id: MemoryId
    namespace: NamespaceName
    content_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ListResponse(WireModel):
    """One page; `next_cursor` is null on the last.

    A memory that exists during the whole listing appears exactly once.
    """

    memories: list[Memory | MemoryDigest]
    next_cursor: Text | None = None
