"""The extension `batch`, `POST /v1/memories/batch`: up to 1,000 writes in one request."""

from typing import Annotated

from pydantic import Field

from contract.envelope import Error
from contract.memory import MemoryWrite, MemoryWriteResponse
from contract.model import WireModel
from contract.scalars import NamespaceName, Time

MAX_WRITES = 1000


class BatchWrite(MemoryWrite):
    """A MemoryWrite with its namespace, and optionally the time it was first made.

    `created_at` is kept when the write makes a new memory, so that a migration does not
    turn old memories into new ones; an existing memory keeps the one it has.
    """

    namespace: NamespaceName
    created_at: Time | None = None


class BatchRequest(WireModel):
    """1 to 1,000 writes, applied in order: of two with the same id, the last one stands."""

    writes: Annotated[list[BatchWrite], Field(min_length=1, max_length=MAX_WRITES)]


class BatchFailure(WireModel):
    """One write that failed; its neighbours are not affected."""

    error: Error


class BatchResponse(WireModel):
    """An answer per write, in the order of the writes."""

    results: list[MemoryWriteResponse | BatchFailure]
