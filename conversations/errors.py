"""Every response that is not 2xx.

    Refusal
    ├── BadRequest       400, 405, 413: the request is invalid; `details.field` names the field
    ├── Unauthorized     401: no valid token or key
    ├── Forbidden        403: a member whose level is too low, or the wrong party
    ├── NotFound         404: does not exist, or the caller may not know that it does
    ├── Conflict         409: contradicts what is stored
    └── Unavailable      503: try again later

No message contains content, a token or a key.
"""

from typing import Any, ClassVar


class Refusal(Exception):
    """The root: a request that is refused."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"

    def __init__(self, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    @property
    def headers(self) -> dict[str, str]:
        return {}


class BadRequest(Refusal):
    status = 400
    code = "bad_request"

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}", {"field": field})


class Unauthorized(Refusal):
    status = 401
    code = "unauthorized"

    @property
    def headers(self) -> dict[str, str]:
        return {"www-authenticate": "Bearer"}


class Forbidden(Refusal):
    status = 403
    code = "forbidden"


class NotFound(Refusal):
    """The same message, whether it never existed or the caller may not know of it."""

    status = 404
    code = "not_found"

    def __init__(self, resource: str, key: str) -> None:
        super().__init__(f"there is no such {resource}", {"resource": resource, "id": key})


class Conflict(Refusal):
    status = 409
    code = "conflict"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message, details or None)


class Unavailable(Refusal):
    status = 503
    code = "unavailable"

    @property
    def headers(self) -> dict[str, str]:
        return {"retry-after": "1"}


def envelope(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """The Error object: `error` repeats the message for clients that look there."""
    body: dict[str, Any] = {"code": code, "message": message, "error": message}
    if details:
        body["details"] = details
    return body
