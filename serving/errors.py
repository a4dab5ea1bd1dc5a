"""What can go wrong in a server.

    ServiceError               the server cannot start; the message says what to do about it
    ├── BadSetting             a flag or an environment variable that makes no sense
    └── ServerFailed           the process that serves, or one of several, does not start
    Refused                    an answer that is not 2xx, made into the service's own envelope

The command prints the message of a `ServiceError` and exits with 1 (2 for `BadSetting`).
"""

from collections.abc import Mapping
from typing import Any


class ServiceError(Exception):
    """The server cannot start; the message says what to do about it."""

    exit_code = 1


class BadSetting(ServiceError):
    """A setting that makes no sense; the message names its flag."""

    exit_code = 2


class ServerFailed(ServiceError):
    """Everything was ready, and serving did not begin; the log says why."""


class Refused(Exception):
    """A request that is not answered with 2xx: status, a short code, a sentence, headers."""

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
