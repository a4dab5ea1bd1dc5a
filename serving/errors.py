"""What can go wrong in a server.

    ServiceError               the server cannot start; the message says what to do about it
    ├── BadSetting             a flag or an environment variable with an invalid value
    └── ServerFailed           the serving process, or one of several, does not start
    Refused                    a response that is not 2xx, in the service's own envelope
    CutShort                   a response that has begun and cannot be completed

The command prints the message of a `ServiceError` and exits with 1 (2 for `BadSetting`).
"""

from collections.abc import Mapping
from typing import Any


class ServiceError(Exception):
    """The server cannot start; the message says what to do about it."""

    exit_code = 1


class BadSetting(ServiceError):
    """An invalid setting; the message names its flag."""

    exit_code = 2


class ServerFailed(ServiceError):
    """Everything was ready, but serving did not start; the log says why."""


class Refused(Exception):
    """A response that is not 2xx: status, a short code, a sentence, headers."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str = "bad_request",
        headers: Mapping[str, str] | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.headers = dict(headers or {})
        self.details = details


class CutShort(Exception):
    """The response has begun and cannot be completed: the connection is closed, so that the client
    notices. Whoever raises it has logged why."""
