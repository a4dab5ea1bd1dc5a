"""The errors that a request can get. Each becomes a response with the Error envelope.

    GatewayError
    ├── BadRequest      400: the request is invalid; the message names the field
    ├── Unauthorized    401: missing or wrong credentials; always the same response
    ├── Forbidden       403: valid credentials, but of another user
    ├── NotFound        404: it does not exist, or belongs to somebody else
    ├── Conflict        409: the user exists, or the Idempotency-Key was used for another request
    ├── TooLarge        413: the body or the file is too large
    ├── Unsupported     415: the file type is not supported
    └── Unavailable     503: the plugin or the database; retry after `retry_after` seconds

No message contains a key, a query or the content of a memory. Errors at startup are in
`serving.errors` and `postgres.errors`, those of the plugin in `contract.errors`.
"""

from typing import Any, ClassVar

# A wrong clock of the plugin must not keep clients away for years.
_LONGEST_WAIT = 3600.0
REALM = 'Basic realm="memory-gateway", charset="UTF-8"'


class GatewayError(Exception):
    """The base class; `status` and `envelope()` make the response."""

    status: ClassVar[int]
    code: ClassVar[str]

    def __init__(self, message: str, *, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    @property
    def headers(self) -> dict[str, str]:
        return {}

    def envelope(self) -> dict[str, Any]:
        return envelope(self.code, self.message, self.details)


class BadRequest(GatewayError):
    """The request is invalid; `about` names the field."""

    status, code = 400, "bad_request"

    @classmethod
    def about(cls, field: str, problem: str) -> "BadRequest":
        return cls(f"{field}: {problem}", details={"field": field})


class Unauthorized(GatewayError):
    """Missing or wrong credentials; the response does not tell which."""

    status, code = 401, "unauthorized"

    def __init__(self, challenge: str = REALM) -> None:
        super().__init__("valid credentials are required")
        self._challenge = challenge

    @property
    def headers(self) -> dict[str, str]:
        return {"www-authenticate": self._challenge}


class Forbidden(GatewayError):
    status, code = 403, "forbidden"


class NotFound(GatewayError):
    status, code = 404, "not_found"


class Conflict(GatewayError):
    status, code = 409, "conflict"


class TooLarge(GatewayError):
    status, code = 413, "too_large"


class Unsupported(GatewayError):
    status, code = 415, "unsupported"


class Unavailable(GatewayError):
    """The plugin or the database does not respond."""

    status, code = 503, "unavailable"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = min(retry_after or 1.0, _LONGEST_WAIT)

    @property
    def headers(self) -> dict[str, str]:
        return {"retry-after": str(max(1, round(self.retry_after)))}


def envelope(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    body: dict[str, Any] = {"code": code, "message": message}
    if details:
        body["details"] = details
    return body
