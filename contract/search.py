"""`POST /v1/search`: find memories in several namespaces at once."""

from typing import Annotated

from pydantic import Field

from contract.filter import Filtered
from contract.memory import Memory
from contract.model import WireModel
from contract.scalars import WHOLE, Embedding, MemoryKind, NamespaceName, Text

DEFAULT_LIMIT = 20
MAX_LIMIT = 100


class SearchRequest(Filtered):
    """What to look for, and where.

    `namespaces` is authoritative: the caller has already reduced it to what may be read. Repeated
    names count once, unknown ones contribute nothing. Without `query` and `embedding` the newest
    come first; with both, the two are fused into one ranking. A blank `query` is the same as none;
    an empty `kinds` means all kinds. A plugin ignores the fields of a capability or an extension
    that it does not list.

    `where`, `created_after` and `created_before` are the extension `filter`: they choose the
    memories before ranking and `limit`.
    """

    namespaces: Annotated[list[NamespaceName], Field(min_length=1)]
    query: Text | None = Field(default=None, repr=False)
    kinds: list[MemoryKind] | None = None
    embedding: Embedding | None = Field(default=None, repr=False)
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), WHOLE] = DEFAULT_LIMIT


class SearchResponse(WireModel):
    """At most `limit` memories, best first, pinned before unpinned; never null."""

    memories: list[Memory]
