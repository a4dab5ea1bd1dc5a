"""What runs before every handler of a service: token, body limit, error envelope, histogram.

Plain ASGI, so that streams pass straight through. `application` puts it around a Starlette
router in place of Starlette's own layers for errors.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import cache, lru_cache
from time import perf_counter
from typing import Any

from prometheus_client import Histogram
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import ASGIApp, Lifespan, Message, Receive, Scope, Send

from serving.body import limited
from serving.errors import Refused
from serving.metrics import Metrics
from serving.token import BearerToken

Answer = Callable[[Exception, Scope], Response | None]
"""Makes the service's error envelope.

It has a response for every `Refused`, and for those of the service's own exceptions that are
answers. What it has None for is a failure: it is logged, and asked for once more as a `Refused`
with the status 500.
"""

Endpoint = tuple[str, str]
"""A method, and a path as the route has it."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NOWHERE = "none"
_CLIENT_GONE = 499
# Clients use the same paths over and over, so the routes of that many are remembered.
_PATHS = 4096
_LONGEST_PATH = 1024
_CODES = {404: "not_found", 405: "method_not_allowed"}
_WORDS = {404: "this endpoint does not exist"}

log = logging.getLogger(__name__)


def application(
    routes: Sequence[BaseRoute],
    *,
    metrics: Metrics,
    answer: Answer,
    max_body: int,
    limits: Mapping[Endpoint, int] | None = None,
    token: str | None = None,
    open_paths: Collection[str] = (),
    lifespan: Lifespan[Starlette] | None = None,
    middleware: Sequence[Middleware] = (),
    by_raw_path: bool = False,
) -> Starlette:
    """The routes behind a guard.

    `limits` are body limits of single endpoints; other methods of their path keep `max_body`.
    `open_paths` need no token. `middleware` is inside the guard. `by_raw_path` routes by the path
    as it was sent: an encoded slash does not split a segment.
    """
    for route in routes:
        _match_exactly(route)
    app = Starlette(routes=routes, lifespan=lifespan)
    app.router.redirect_slashes = False
    inner: ASGIApp = app.router
    for cls, arguments, options in reversed(middleware):
        inner = cls(inner, *arguments, **options)
    app.middleware_stack = Guard(
        inner,
        app.router.routes,
        metrics=metrics,
        answer=answer,
        max_body=max_body,
        limits=limits or {},
        token=token,
        open_paths=open_paths,
        by_raw_path=by_raw_path,
    )
    return app


class Guard:
    """Passes a request on to `app`, and turns every failure into a response."""

    def __init__(
        self,
        app: ASGIApp,
        routes: Sequence[BaseRoute],
        *,
        metrics: Metrics,
        answer: Answer,
        max_body: int,
        limits: Mapping[Endpoint, int],
        token: str | None,
        open_paths: Collection[str],
        by_raw_path: bool,
    ) -> None:
        self._app = app
        self._routes = routes
        self._requests = metrics.requests
        self._histogram = cache(self._make_histogram)
        self._remembered = lru_cache(_PATHS)(self._find)
        self._answer = answer
        self._max_body = max_body
        self._limits = limits
        self._token = None if token is None else BearerToken(token)
        self._open_paths = frozenset(open_paths)
        self._by_raw_path = by_raw_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        if self._by_raw_path:
            scope["path"] = scope["raw_path"].decode("latin-1")
        method, path = scope["method"], scope["path"]
        find = self._remembered if len(path) <= _LONGEST_PATH else self._find
        route, methods, found = find(method, path, scope.get("root_path", ""))
        status = 0

        def note_and_send(message: Message) -> Awaitable[None]:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            return send(message)

        try:
            within = self._let_in(scope, receive, route)
            if found is None:
                await self._app(scope, within, note_and_send)
            else:
                endpoint, added = found
                scope.update(added)
                await endpoint(scope, within, note_and_send)
        except ClientDisconnect:
            status = status or _CLIENT_GONE
        except asyncio.CancelledError:
            if status:
                raise  # the client sees that its stream is not complete
            # The server stops and has waited long enough; there is still time to say so.
            refused = Refused(
                503, "the server is stopping", code="unavailable", headers={"retry-after": "1"}
            )
            await self._refuse(refused, scope, receive, note_and_send)
        except Exception as error:
            if status:
                raise  # uvicorn logs it and cuts the connection
            await self._refuse(_as_refusal(error, methods), scope, receive, note_and_send, route)
        finally:
            known = method if method in _METHODS else "other"
            histogram = self._histogram(known, route or _NOWHERE, status or _CLIENT_GONE)
            histogram.observe(perf_counter() - started)

    def _let_in(self, scope: Scope, receive: Receive, route: str | None) -> Receive:
        """Check token and length; what the handler may read."""
        needs_token = self._token is not None and scope["path"] not in self._open_paths
        if needs_token and self._token is not None and not self._token.is_in(scope):
            raise Refused(
                401,
                "Authorization: a valid bearer token is required",
                code="unauthorized",
                headers={"www-authenticate": "Bearer"},
            )
        limit = self._limits.get((scope["method"], route or _NOWHERE), self._max_body)
        return limited(scope["headers"], receive, limit)

    async def _refuse(
        self,
        error: Exception,
        scope: Scope,
        receive: Receive,
        send: Send,
        route: str | None = None,
    ) -> None:
        response = self._answer(error, scope)
        if response is None:
            log.error("request failed", extra={"route": route}, exc_info=error)
            failure = Refused(500, "internal error; the server's log has more", code="internal")
            response = self._answer(failure, scope)
        if response is None:
            raise TypeError("a service must have an answer for every Refused") from error
        if response.status_code == 413:
            # The rest of the body is not needed.
            response.headers["connection"] = "close"
        await response(scope, receive, send)

    def _make_histogram(self, method: str, route: str, status: int) -> Histogram:
        return self._requests.labels(method, route, str(status))

    def _find(
        self, method: str, path: str, root_path: str
    ) -> tuple[str | None, set[str], tuple[ASGIApp, Scope] | None]:
        """The path of the route that takes the request, all methods of its path, and its endpoint.

        The last with what the router would add to the scope; None where the request has to go
        through other layers first.
        """
        first: str | None = None
        methods: set[str] = set()
        scope = {"type": "http", "method": method, "path": path, "root_path": root_path}
        for route in self._routes:
            match, child_scope = route.matches(scope)
            if match is Match.NONE:
                continue
            methods |= getattr(route, "methods", None) or set()
            first = first or getattr(route, "path", None)
            if match is Match.FULL:
                found = None
                if isinstance(self._app, Router):
                    # It would look for the same route again, and that for the method.
                    endpoint = route.app if isinstance(route, Route) else route.handle
                    found = endpoint, {**child_scope, "router": self._app}
                return getattr(route, "path", None), methods, found
        return first, methods, None


def _match_exactly(route: BaseRoute) -> None:
    """A newline is a character like any other: part of a parameter, and not the end of a path."""
    if isinstance(route, Route):
        pattern = route.path_regex.pattern.removesuffix("$")
        route.path_regex = re.compile(rf"{pattern}\Z", re.DOTALL)


def _as_refusal(error: Exception, methods: set[str]) -> Exception:
    """What Starlette's router says, as a `Refused`; anything else as it is."""
    if not isinstance(error, HTTPException):
        return error
    status = error.status_code
    headers: dict[str, Any] = dict(error.headers or {})
    message = _WORDS.get(status, str(error.detail))
    if status == 405 and methods:
        allowed = ", ".join(sorted(methods))
        headers = {"allow": allowed}
        message = f"the method must be {allowed}"
    return Refused(status, message, code=_CODES.get(status, "bad_request"), headers=headers)
