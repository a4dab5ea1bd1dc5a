"""Guards `/api` and `/dashboard`: they need the management token, or a login made with it."""

import hmac
import time
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from postgres.errors import StoreUnavailable
from recall.access import COOKIE, bearer_of, same
from recall.errors import Denied, Unauthorized
from recall.worker import Worker

SESSION_SECONDS: Final = 7 * 24 * 3600
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Gate:
    """ASGI middleware that lets only the management token and logins use `/api`."""

    def __init__(self, app: ASGIApp, worker: Worker) -> None:
        self._app = app
        self._worker = worker
        self._sessions = Sessions(worker.settings.token or "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] == "http" and (path == "/api" or path.startswith("/api/")):
            await self._check(Request(scope))
        await self._app(scope, receive, send)

    async def _check(self, request: Request) -> None:
        token = bearer_of(request.scope["headers"])
        if token is None and self._sessions.is_open(request):
            if request.method not in _SAFE and not is_same_origin(request):
                raise Denied("this change must be made from the dashboard itself")
        elif not same(token, self._worker.settings.token):
            if token is None or await self._worker.recollection.who(token) is None:
                raise Unauthorized("the management token is required")
            raise Denied("an API key is not enough: the management token is required")
        try:
            await self._worker.configuration()
        except StoreUnavailable:
            return  # a handler that needs the database reports it


class Sessions:
    """Logins: cookies signed with the management token, valid for a week."""

    def __init__(self, token: str) -> None:
        self._secret = sha256(b"recall-session:" + token.encode()).digest()

    def make(self) -> str:
        """A new cookie."""
        until = f"{int(time.time()) + SESSION_SECONDS:x}"
        return f"{until}.{self._sign(until)}"

    def is_open(self, request: Request) -> bool:
        """Whether the request has a valid cookie."""
        until, _, signature = request.cookies.get(COOKIE, "").partition(".")
        if not signature or not hmac.compare_digest(
            signature.encode("utf-8", "replace"), self._sign(until).encode()
        ):
            return False
        return int(until, 16) > time.time()

    def _sign(self, until: str) -> str:
        return hmac.new(self._secret, until.encode("utf-8", "replace"), "sha256").hexdigest()


def is_same_origin(request: Request) -> bool:
    """Whether a browser says that the request comes from a page of this server."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        # Also right behind a reverse proxy that changes `Host`; no page can set it.
        return site == "same-origin"
    try:
        host = urlsplit(request.headers.get("origin", "")).netloc
    except ValueError:  # it is no URL
        return False
    return bool(host) and host == request.headers.get("host")
