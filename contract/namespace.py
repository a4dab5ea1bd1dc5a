"""Namespaces: where memories live, and who owns them."""

from typing import Self

from pydantic import ConfigDict, model_validator

from contract.model import WireModel
from contract.scalars import JsonObject, NamespaceKind, NamespaceName, Time


class Namespace(WireModel):
    """A namespace as it is stored.

    Once `expires_at` has passed, it no longer exists for any reader or writer. Only PATCH with a
    later `expires_at`, or with null, restores it, with the memories that are still stored.
    """

    name: NamespaceName
    kind: NamespaceKind
    created_at: Time
    expires_at: Time | None = None
    metadata: JsonObject | None = None


class NamespaceUpsert(WireModel):
    """The body of `PUT /v1/namespaces/{name}`: create or refresh.

    An absent field keeps the stored value, an explicit null clears it. Callers PUT with only `kind`
    before every commit: that must not remove a TTL or the metadata.
    """

    kind: NamespaceKind
    expires_at: Time | None = None
    metadata: JsonObject | None = None


class NamespacePatch(WireModel):
    """The body of `PATCH /v1/namespaces/{name}`: at least one of the two fields.

    An absent field keeps the stored value, null clears it.
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
