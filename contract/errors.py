"""What can go wrong, on either side of the wire.

    MemoryPluginError
    ├── BadRequest           400 and every other 4xx: the request is invalid; do not retry it
    ├── NotFound             404: no such namespace, memory or endpoint
    ├── Forbidden            401, 403: the memory belongs to another namespace, or no token
    ├── NotSupported         not sent: the plugin does not list the extension that it needs
    ├── Unavailable          429, 5xx or no answer: the plugin or its store is down; retry later
    │   ├── BreakerOpen      not sent: the last calls failed; allowed again after a pause
    │   └── Timeout          no answer within the time that the caller gave
    └── ContractViolation    a 2xx whose body does not fit the contract

A plugin in Python raises the same classes as the client, and answers with `error.status` and
`error.envelope()`. No message contains memory content or a token.
"""

from typing import Any, ClassVar, Literal

ErrorCode = Literal["bad_request", "not_found", "forbidden", "internal", "unavailable"]


class MemoryPluginError(Exception):
    """The base class of everything that this package raises."""

    code: ClassVar[ErrorCode] = "internal"
    default_status: ClassVar[int] = 500

    def __init__(
        self, message: str, *, status: int | None = None, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status if status is not None else self.default_status
        self.details = details

    def envelope(self) -> dict[str, Any]:
        """The Error object of the contract, ready to send."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details is not None:
            body["details"] = self.details
        return body


class BadRequest(MemoryPluginError):
    """The request does not fit the contract; the message names the field."""

    code = "bad_request"
    default_status = 400


class NotFound(MemoryPluginError):
    """The namespace, the memory or the endpoint does not exist."""

    code = "not_found"
    default_status = 404


class Forbidden(MemoryPluginError):
    """The memory belongs to another namespace, or the token is missing or wrong."""

    code = "forbidden"
    default_status = 403


class NotSupported(MemoryPluginError):
    """The plugin does not list an extension that the call needs; nothing was sent."""

    code = "bad_request"
    default_status = 501


class Unavailable(MemoryPluginError):
    """The plugin or its store cannot answer now. `retry_after` is in seconds, when known."""

    code = "unavailable"
    default_status = 503

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        details: dict[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, status=status, details=details)
        self.retry_after = retry_after


class BreakerOpen(Unavailable):
    """Not sent, because the last calls failed; the next is allowed after `retry_after`."""


class Timeout(Unavailable):
    """No answer within the caller's time. A write may or may not have happened."""


class ContractViolation(MemoryPluginError):
    """The plugin answered 2xx with a body that does not fit the contract."""

    default_status = 502
