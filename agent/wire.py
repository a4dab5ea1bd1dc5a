"""One request with a JSON answer, and its outcome.

Failures are returned as values: exceptions of the HTTP library contain the request, and so would
any exception raised while handling them.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Literal

import httpx

from agent.errors import ConfigError
from agent.quiet import quiet

Category = Literal[
    "timeout", "connection", "unauthorized", "http_error", "invalid_json", "invalid_response"
]

# A hundred results of a gateway take less than 1 MiB, and a model's answer even less.
_MOST_BYTES = 16 * 1024 * 1024
# A call on an idle connection that the server has just closed would fail, and calls are not
# retried.
_NO_IDLE_CONNECTIONS = httpx.Limits(max_keepalive_connections=0)

logger = logging.getLogger("agent")


@dataclass(frozen=True)
class Outcome:
    """`category` is None after a 2xx with a JSON object, which is in `body`."""

    category: Category | None
    status_code: int | None = None
    body: dict[str, Any] = field(default_factory=dict, repr=False)


class Wire:
    """Asks one server. No retries, no redirects, no cookies.

    Raises ConfigError when the environment names certificates or proxies that cannot be used.
    """

    def __init__(
        self,
        seconds: float,
        transport: httpx.AsyncBaseTransport | None,
        *,
        headers: Mapping[str, str] | None = None,
        proxies: bool = False,
    ) -> None:
        usual = {"Accept": "application/json", "User-Agent": "memory-agent"}
        http = None
        with suppress(OSError, ImportError, ValueError):
            if transport is None and not proxies:
                transport = httpx.AsyncHTTPTransport(limits=_NO_IDLE_CONNECTIONS)
            http = httpx.AsyncClient(
                transport=transport,
                timeout=seconds,
                headers=httpx.Headers({**usual, **(headers or {})}, encoding="utf-8"),
                follow_redirects=False,
                trust_env=proxies,
                limits=_NO_IDLE_CONNECTIONS,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            )
        if http is None:
            raise ConfigError(
                "environment: SSL_CERT_FILE, SSL_CERT_DIR or a proxy variable cannot be used"
            )
        self._seconds = seconds
        self._http = http

    async def post(self, url: str, body: Mapping[str, Any]) -> Outcome:
        """Send `body` as JSON. Raises TypeError or ValueError if it cannot be written as JSON."""
        return await self._ask("POST", url, _encoded(body))

    async def get(self, url: str) -> Outcome:
        return await self._ask("GET", url, None)

    async def aclose(self) -> None:
        with quiet():
            await self._http.aclose()

    async def _ask(self, method: str, url: str, content: bytes | None) -> Outcome:
        try:
            with quiet():
                # The client's timeout is for each read; this one is for all of them together.
                async with asyncio.timeout(self._seconds):
                    outcome = await self._exchange(method, url, content)
        except (httpx.TimeoutException, TimeoutError):
            outcome = Outcome("timeout")
        except httpx.DecodingError:
            outcome = Outcome("invalid_response")
        except Exception:  # noqa: BLE001 - exceptions of a transport contain the request
            outcome = Outcome("connection")
        logger.debug("%s %s: %s, status %s", method, url, outcome.category, outcome.status_code)
        return outcome

    async def _exchange(self, method: str, url: str, content: bytes | None) -> Outcome:
        headers = {} if content is None else {"Content-Type": "application/json"}
        async with self._http.stream(method, url, content=content, headers=headers) as response:
            status = response.status_code
            if status in (401, 403):
                return Outcome("unauthorized", status)
            if not response.is_success:
                return Outcome("http_error", status)
            raw = bytearray()
            async for chunk in response.aiter_bytes():
                raw += chunk
                if len(raw) > _MOST_BYTES:
                    return Outcome("invalid_response", status)
        return _parsed(bytes(raw), status)


def _parsed(raw: bytes, status: int) -> Outcome:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return Outcome("invalid_json", status)
    if not isinstance(body, dict):
        return Outcome("invalid_response", status)
    return Outcome(None, status, body)


def _encoded(body: Mapping[str, Any]) -> bytes:
    """ASCII, so that a lone surrogate in a prompt can be sent; the server decides about it."""
    kind: type[Exception]
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, RecursionError):
        kind = TypeError
    except ValueError:
        kind = ValueError
    raise kind("the request cannot be written as JSON")
