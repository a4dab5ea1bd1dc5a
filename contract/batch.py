"""The extension `batch`, `POST /v1/memories/batch`: up to 1,000 writes in one request."""

from typing import Annotated

from pydantic import Field, ValidationError

from contract.envelope import Error
from contract.errors import BadRequest
from contract.memory import MemoryWrite, MemoryWriteResponse
from contract.model import WireModel, load_json, parse_value
from contract.scalars import NamespaceName, Time

MAX_WRITES = 1000


class BatchWrite(MemoryWrite):
    """A MemoryWrite with its namespace, and optionally the time it was first created.

    `created_at` is stored when the write creates a memory, so that a migration does not make old
    memories look new; an existing memory keeps its own.
    """

    namespace: NamespaceName
    created_at: Time | None = None


class BatchRequest(WireModel):
    """1 to 1,000 writes, applied in order: of two with the same id, the last one wins."""

    writes: Annotated[list[BatchWrite], Field(min_length=1, max_length=MAX_WRITES)]


class BatchFailure(WireModel):
    """One write that failed; the others are not affected."""

    error: Error


class BatchResponse(WireModel):
    """One result per write, in the order of the writes."""

    results: list[MemoryWriteResponse | BatchFailure]


class _AnyWrites(WireModel):
    """The request as a whole, whatever its writes are."""

    writes: Annotated[list[object], Field(min_length=1, max_length=MAX_WRITES)]


def parse_writes(body: bytes) -> list[BatchWrite | BadRequest]:
    """Parse the body of a batch; an invalid write is returned as its `BadRequest`.

    Raises `BadRequest` if the request itself is invalid.
    """
    try:
        return list(BatchRequest.model_validate_json(body).writes)
    except ValidationError:
        request: _AnyWrites = parse_value(_AnyWrites, load_json(body))
    return [_parse_write(index, write) for index, write in enumerate(request.writes)]


def _parse_write(index: int, write: object) -> BatchWrite | BadRequest:
    try:
        parsed: BatchWrite = parse_value(BatchWrite, write, f"writes.{index}")
    except BadRequest as refusal:
        return refusal
    return parsed
