"""The error responses of REST.

ApiError             status, code, message, and the invalid fields
├── Invalid          400 bad_request
├── Unauthorized     401 unauthorized: no token, or an unknown one
├── Denied           403 forbidden: an API key where the management token is required
├── Missing          404 not_found
└── Conflict         409 conflict: the key is taken
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import ValidationError
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from contract import (
    BadRequest,
    ContractViolation,
    Forbidden,
    MemoryPluginError,
    NotFound,
    Unavailable,
    explain,
    faults,
)
from postgres.errors import StoreUnavailable
from recall.store import KeyTaken
from serving.errors import Refused

Detail = tuple[str, str]
_CODES = {401: "unauthorized", 403: "forbidden", 404: "not_found", 413: "too_large"}


class ApiError(Exception):
    """An error response. Messages never contain a value that was sent."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "bad_request"

    def __init__(self, message: str, details: Sequence[Detail] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class Invalid(ApiError):
    """The request is invalid; each detail names a field."""


class Unauthorized(ApiError):
    """No token, or an unknown one."""

    status, code = 401, "unauthorized"


class Denied(ApiError):
    """The token does not grant this."""

    status, code = 403, "forbidden"


class Missing(ApiError):
    """It does not exist."""

    status, code = 404, "not_found"


class Conflict(ApiError):
    """The key is taken."""

    status, code = 409, "conflict"


def invalid(field: str, reason: str) -> Invalid:
    """An error about one field."""
    return Invalid(f"{field}: {reason}", [(field, reason)])


def refused(error: ValidationError) -> Invalid:
    """All validation errors, field by field."""
    return Invalid(explain(error), faults(error))


def answer(error: Exception, scope: Scope) -> Response | None:  # noqa: ARG001 - the guard's signature
    """The error response for an exception; None if it is a bug."""
    match error:
        case ApiError():
            headers = {"www-authenticate": "Bearer"} if error.status == 401 else {}
            return envelope(error.status, error.code, error.message, error.details, headers)
        case KeyTaken():
            reason = "another memory of this owner has this key"
            return envelope(409, "conflict", f"key: {reason}", [("key", reason)])
        case StoreUnavailable():
            return _unavailable("the database does not answer; try again soon")
        case Unavailable():
            return _unavailable("the memory plugin does not answer; try again soon")
        case BadRequest():
            field = str((error.details or {}).get("field", "content"))
            reason = error.message.removeprefix(f"{field}: ")
            return envelope(400, "bad_request", error.message, [(field, reason)])
        case NotFound() | Forbidden() | ContractViolation():
            return _unavailable("the memory plugin violates the contract; check its log")
        case MemoryPluginError():
            return _unavailable("the memory plugin failed; try again soon")
        case Refused():
            code = _CODES.get(error.status, "bad_request" if error.status < 500 else error.code)
            return envelope(error.status, code, error.message, (), error.headers)
    return None


def envelope(
    status: int,
    code: str,
    message: str,
    details: Sequence[Detail] = (),
    headers: dict[str, str] | None = None,
) -> Response:
    """The error object of REST."""
    error: dict[str, Any] = {"code": code, "message": message}
    error["details"] = [{"field": field, "message": reason} for field, reason in details]
    return JSONResponse({"error": error}, status, headers)


def bad_request_body(message: str) -> bytes:
    """The body of the 400 response to something that is not HTTP."""
    return bytes(envelope(400, "bad_request", message).body)


def _unavailable(message: str) -> Response:
    return envelope(503, "unavailable", message, (), {"retry-after": "1"})
