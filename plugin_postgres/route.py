"""One path of the API: authentication, its methods, and how failures are reported.

Every answer passes through here, so every one that is not 2xx carries the Error envelope.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

import orjson
from prometheus_client import Histogram
from starlette.types import Receive, Scope, Send

from contract import BadRequest, Forbidden, MemoryPluginError, NotFound, Unavailable
from plugin_postgres.metrics import Metrics
from postgres.errors import StoreUnavailable
from serving import body
from serving.errors import Refused
from serving.token import BearerToken

_JSON = (b"content-type", b"application/json")
_NO_CONTENT = 204
_BAD_METHOD = 405
_UNAUTHORISED = 401

log = logging.getLogger(__name__)


class Answer(NamedTuple):
    """What goes back to the client."""

    status: int
    body: bytes
    headers: list[tuple[bytes, bytes]]


def to_json(value: Mapping[str, Any]) -> bytes:
    """The body of an answer; times are in UTC with `Z`."""
    # The driver uses the first and the last instant of its calendar for infinity, without an
    # offset.
    return orjson.dumps(value, option=orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC)


def json_answer(status: int, value: Mapping[str, Any]) -> Answer:
    return Answer(status, to_json(value), [_JSON])


def bad_request_body(message: str) -> bytes:
    """The envelope for bytes that are not a request."""
    return to_json(BadRequest(message).envelope())


def unavailable(error: StoreUnavailable) -> Unavailable:
    """An error of the store as one of the contract."""
    return Unavailable(error.message, retry_after=error.retry_after)


NOTHING = Answer(_NO_CONTENT, b"", [])

Handler = Callable[[str, bytes], Awaitable[Answer]]
"""Takes the variable segment of the path, and the body; of a GET, the query string in its place."""


@dataclass(frozen=True, slots=True)
class Method:
    """The handler of a method, and how large its body may be."""

    handle: Handler
    max_body: int


class ApiRoute:
    """The ASGI application of one path; an empty one answers 404 to everything."""

    def __init__(
        self,
        route: str,
        methods: Mapping[str, Method],
        metrics: Metrics,
        *,
        token: str | None = None,
    ) -> None:
        self._route = route
        self._methods = methods
        self._metrics = metrics
        self._histograms: dict[tuple[str, int], Histogram] = {}
        self._token = None if token is None else BearerToken(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        try:
            answer = await self._handle(scope, receive)
        except MemoryPluginError as error:
            answer = self._refusal(error)
        except StoreUnavailable as error:
            answer = self._refusal(unavailable(error))
        except Refused as error:
            answer = self._refusal(BadRequest(error.message, status=error.status))
        except asyncio.CancelledError:
            # The plugin is stopping and has waited long enough; there is still time to say so.
            answer = self._refusal(Unavailable("the plugin is stopping"))
        except Exception:
            log.exception("request failed", extra={"route": self._route})
            answer = self._refusal(MemoryPluginError("internal error; the plugin's log has more"))
        headers = answer.headers
        if answer.status != _NO_CONTENT:
            headers = [*headers, (b"content-length", b"%d" % len(answer.body))]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})
        self._observe(scope["method"], answer.status, perf_counter() - started)

    async def _handle(self, scope: Scope, receive: Receive) -> Answer:
        if self._token is not None and not self._token.is_in(scope):
            raise Forbidden("Authorization: a valid bearer token is required", status=_UNAUTHORISED)
        if not self._methods:
            raise NotFound("this endpoint does not exist")
        method = self._methods.get(scope["method"])
        if method is None:
            if "/" in _segment(scope):
                # `NAME%2Fmemories` is one bad name, and not another endpoint.
                raise BadRequest("path: a name must not contain a slash")
            raise BadRequest(f"the method must be {self._allowed}", status=_BAD_METHOD)
        content = await body.read(scope["headers"], receive, method.max_body)
        if scope["method"] in ("GET", "HEAD"):
            content = scope["query_string"]
        return await method.handle(_segment(scope), content)

    def _observe(self, method: str, status: int, seconds: float) -> None:
        if method not in self._methods:
            method = "other"
        histogram = self._histograms.get((method, status))
        if histogram is None:
            histogram = self._metrics.requests.labels(method, self._route, str(status))
            self._histograms[method, status] = histogram
        histogram.observe(seconds)

    @property
    def _allowed(self) -> str:
        return ", ".join(self._methods)

    def _refusal(self, error: MemoryPluginError) -> Answer:
        headers = [_JSON]
        if error.status == _BAD_METHOD:
            headers.append((b"allow", self._allowed.encode()))
        elif error.status == _UNAUTHORISED:
            headers.append((b"www-authenticate", b"Bearer"))
        elif isinstance(error, Unavailable):
            headers.append((b"retry-after", b"%d" % max(1, round(error.retry_after or 1))))
        return Answer(error.status, to_json(error.envelope()), headers)


def _segment(scope: Scope) -> str:
    """The variable part of the path, decoded; an encoded slash stays in it."""
    params = scope.get("path_params")
    if not params:
        return ""
    raw = next(iter(params.values()))
    if "%" not in raw:
        return str(raw)
    try:
        return unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        raise BadRequest("path: must be UTF-8") from None
