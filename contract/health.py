"""`GET /v1/health`: whether the plugin is up, and what it supports."""

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, WithJsonSchema

from contract.envelope import Error
from contract.model import WireModel
from contract.scalars import Capability, Extension, Text

CONTRACT_VERSION = "1.0.0"
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)
EXTENSIONS: tuple[Extension, ...] = get_args(Extension)


def _known(names: tuple[str, ...]) -> BeforeValidator:
    """Drop names that a later version of the contract added: clients ignore them."""

    def keep(value: Any) -> Any:
        if isinstance(value, list):
            return [item for item in value if not isinstance(item, str) or item in names]
        return value

    return BeforeValidator(keep)


def _open_list(names: tuple[str, ...]) -> WithJsonSchema:
    """The schema of a list of names to which a later version may add."""
    known = {"type": "string", "enum": list(names)}
    return WithJsonSchema({"type": "array", "items": {"anyOf": [known, {"type": "string"}]}})


Capabilities = Annotated[list[Capability], _known(CAPABILITIES), _open_list(CAPABILITIES)]
Extensions = Annotated[list[Extension], _known(EXTENSIONS), _open_list(EXTENSIONS)]


class HealthResponse(WireModel):
    """The answer of a healthy plugin.

    List in `capabilities` only what you support: the caller sends the fields of a capability when
    it is listed and leaves them out when it is not. `extensions` names what you offer in addition
    to the seven endpoints. A client ignores names that it does not know.
    """

    status: Literal["ok", "degraded"]
    version: Text
    capabilities: Capabilities
    extensions: Extensions | None = None


class DegradedHealth(Error):
    """The body of a 503 from `/v1/health`: the store is down, the plugin itself is not.

    An Error that also says what the plugin would offer.
    """

    status: Literal["degraded"]
    version: Text
    capabilities: Capabilities
    extensions: Extensions | None = None
