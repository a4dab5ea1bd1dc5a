"""The Error envelope: the one shape of every answer that is not 2xx."""

from contract.errors import ErrorCode
from contract.model import WireModel
from contract.scalars import JsonObject, Text


class Error(WireModel):
    """The body of every answer that is not 2xx.

    `code` is for programs, `message` for people: it names the field and what to do, and never
    contains memory content.
    """

    code: ErrorCode
    message: Text
    details: JsonObject | None = None
