"""`POST /v1/memories/count`, a part of the extension `browse`: how many memories there are."""

from typing import Annotated

from pydantic import Field, WithJsonSchema

from contract.filter import FieldName, Filtered
from contract.model import WireModel
from contract.scalars import MemoryKind, NamespaceName, Text

MAX_GROUPS = 1000

Number = Annotated[
    int | Annotated[float, Field(allow_inf_nan=False)], WithJsonSchema({"type": "number"})
]


class CountRequest(Filtered):
    """Which memories to count, and by which field of `propagation` to group them.

    `where`, `created_after` and `created_before` also need the extension `filter`. An empty `kinds`
    means all kinds.
    """

    namespaces: Annotated[list[NamespaceName], Field(min_length=1)]
    kinds: list[MemoryKind] | None = None
    group_by: FieldName | None = None


class CountGroup(WireModel):
    """The memories whose field has one value.

    `value` is null for memories without the field, and for those where it is not a string, a
    number or a boolean.
    """

    value: Text | bool | Number | None = Field(repr=False)
    count: Annotated[int, Field(ge=0)]


class CountResponse(WireModel):
    """How many live memories match, exactly; with `group_by` also per value.

    `groups` has the largest first; groups of equal size are sorted by value: numbers by size,
    strings by character.
    """

    count: Annotated[int, Field(ge=0)]
    groups: Annotated[list[CountGroup], Field(max_length=MAX_GROUPS)] | None = None
