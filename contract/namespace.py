"""Namespaces: where memories live, and who owns them."""

from typing import Self

from pydantic import ConfigDict, model_validator

from contract.model import WireModel
from contract.scalars import JsonObject, NamespaceKind, NamespaceName, Time


class Namespace(WireModel):
    """A namespace as it is stored.

    Once `expires_at` has passed it is gone for every reader and writer. Only PATCH with a
    later `expires_at`, or with null, brings it back with the memories it still has.
    """

    name: NamespaceName
    kind: NamespaceKind
    created_at: Time
    expires_at: Time | None = None
    metadata: JsonObject | None = None


class NamespaceUpsert(WireModel):
    """The body of `PUT /v1/namespaces/{name}`: create or refresh.

    A field that is absent leaves the stored value, an explicit null clears it. Callers PUT
    with `kind` alone before every commit: that must not wipe a TTL or the metadata.
    """

    kind: NamespaceKind
    expires_at: Time | None = None
    metadata: JsonObject | None = None


class NamespacePatch(WireModel):
    """The body of `PATCH /v1/namespaces/{name}`: at least one of the two fields.

    Absent leaves the stored value, null clears it.
    """

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["expires_at"]}, {"required": ["metadata"]}]}
    )

    expires_at: Time | None = None
    metadata: JsonObject | None = None

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("needs at least one of expires_at, metadata")
        return self
