"""Memories: what is written, what comes back, how one is forgotten."""

from pydantic import Field

from contract.model import WireModel
from contract.scalars import (
    Content,
    Embedding,
    JsonObject,
    MemoryId,
    MemoryKind,
    MemorySource,
    NamespaceName,
    Text,
    Time,
)


class MemoryWrite(WireModel):
    """The body of `POST /v1/namespaces/{name}/memories`.

    `id` is the idempotency key. Without one the plugin generates a UUID. If the namespace already
    has a memory with this id, the write replaces the whole memory: an absent optional field becomes
    unset, `created_at` stays. If another namespace has it: 403, and nothing changes. `propagation`
    is opaque: return it unchanged.
    """

    content: Content = Field(repr=False)
    kind: MemoryKind
    source: MemorySource
    id: MemoryId | None = None
    expires_at: Time | None = None
    propagation: JsonObject | None = Field(default=None, repr=False)
    pin: bool | None = None
    embedding: Embedding | None = Field(default=None, repr=False)


class MemoryWriteResponse(WireModel):
    """Answered with 201 once the write is durable, and not before."""

    id: MemoryId
    namespace: NamespaceName


class Memory(WireModel):
    """A memory as a search or a listing returns it.

    `score` is higher for a better match and comparable within one response only. The
    embedding is never sent back.
    """

    id: MemoryId
    namespace: NamespaceName
    content: Text = Field(repr=False)
    kind: MemoryKind
    source: MemorySource
    created_at: Time
    expires_at: Time | None = None
    propagation: JsonObject | None = Field(default=None, repr=False)
    pin: bool | None = None
    score: float | None = Field(default=None, allow_inf_nan=False)


class ForgetRequest(WireModel):
    """The body of `DELETE /v1/memories/{id}`.

    The memory must be in `requested_by_namespace`: 403 otherwise, 404 for an unknown id, and
    nothing is deleted in either case.
    """

    requested_by_namespace: NamespaceName
