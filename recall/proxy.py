"""The proxy: forwards a chat client's requests upstream, with its memories added.

Responses are passed on byte for byte, streams chunk by chunk. A client that disconnects cancels the
upstream request.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import orjson
from starlette.types import Message, Receive, Scope, Send

from recall.access import bearer_of
from recall.answers import MAX_ANSWER, answer_text
from recall.headers import Wishes, for_client, for_upstream, read_wishes, value_of
from recall.injection import Format
from recall.learning import Learner, Lesson
from recall.recollection import Outcome, Recollection
from recall.upstream import Answer, Silent, Upstream, UpstreamError
from serving.errors import CutShort
from serving.metrics import Metrics

FORMATS: Final[dict[str, Format]] = {
    "/v1/chat/completions": "chat",
    "/v1/messages": "messages",
    "/v1/responses": "responses",
}
MAX_READ: Final = 32 * 1024 * 1024
"""Longer bodies are forwarded without being parsed."""
# Longer responses are parsed in a thread.
_SHORT = 256 * 1024

log = logging.getLogger(__name__)


class Refusal(Exception):
    """An error response of the proxy itself, in the format of the API that was called."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


@dataclass
class _Exchange:
    """The state of one request."""

    scope: Scope
    receive: Receive
    send: Send
    format: Format | None
    wishes: Wishes
    outcome: Outcome
    is_done: bool = False
    is_gone: bool = False
    has_begun: bool = False
    pieces: list[bytes] | None = None


class Proxy:
    """The ASGI application for everything under `/v1`."""

    def __init__(
        self,
        upstream: Upstream | None,
        recollection: Recollection,
        learner: Learner,
        metrics: Metrics,
        *,
        upstream_key: str | None,
    ) -> None:
        self._upstream = upstream
        self._recollection = recollection
        self._learner = learner
        self._upstream_key = upstream_key
        self._requests = metrics.counter(
            "proxied", "Proxied requests, by what memory did to them.", ("memory",)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        format_ = FORMATS.get(scope["path"]) if scope["method"] == "POST" else None
        wishes = read_wishes(scope["headers"])
        exchange = _Exchange(scope, receive, send, format_, wishes, Outcome(b""))
        try:
            await self._serve(exchange)
        except Refusal as refusal:
            if not exchange.is_gone:
                await _refuse(send, refusal, is_anthropic=_is_anthropic(scope))
        finally:
            self._requests.labels(_label(exchange.outcome)).inc()

    async def _serve(self, exchange: _Exchange) -> None:
        scope, wishes = exchange.scope, exchange.wishes
        headers = scope["headers"]
        token = wishes.memory_key or bearer_of(headers)
        body: bytes | AsyncIterator[bytes]
        if exchange.format is None or _is_encoded(headers):
            await self._recollection.identify(exchange.outcome, token)
            body = self._streamed(exchange, b"") if _has_body(headers) else b""
        else:
            body, is_whole = await _read(exchange)
            if is_whole:
                exchange.outcome = await self._recollection.apply(
                    body, exchange.format, token, wishes
                )
                body = exchange.outcome.body
            else:
                await self._recollection.identify(exchange.outcome, token)
                body = self._streamed(exchange, body)
        self._check(exchange.outcome)
        if self._upstream is None:
            raise Refusal(502, "no_upstream", "no upstream is configured: set --upstream-url")
        await self._exchange(exchange, self._upstream, body)

    def _check(self, outcome: Outcome) -> None:
        if outcome.is_disabled:
            raise Refusal(401, "invalid_api_key", "this API key is disabled")
        if outcome.is_unsure and self._upstream_key is not None:
            raise Refusal(503, "unavailable", "the API key cannot be checked now; try again soon")
        if outcome.owner is None and self._upstream_key is not None:
            raise Refusal(401, "invalid_api_key", "an API key of this server is required")

    async def _exchange(
        self,
        exchange: _Exchange,
        upstream: Upstream,
        body: bytes | AsyncIterator[bytes],
    ) -> None:
        scope = exchange.scope
        length = len(body) if isinstance(body, bytes) and (body or exchange.format) else None
        headers = for_upstream(
            scope["headers"],
            length=length,
            upstream_key=self._upstream_key,
            keeps_credentials=self._keeps_credentials(exchange),
            is_anthropic=_is_anthropic(scope),
        )
        target = upstream.path + scope["raw_path"].removeprefix(b"/v1")
        if scope["query_string"]:
            target += b"?" + scope["query_string"]
        watching = None
        is_cut_short = False
        if isinstance(body, bytes):
            watching = asyncio.ensure_future(_watch(exchange, asyncio.current_task()))
        try:
            answer = await upstream.send(scope["method"].encode("latin-1"), target, headers, body)
            try:
                await self._pass_on(exchange, answer)
            finally:
                answer.close()
        except asyncio.CancelledError:
            if not exchange.is_gone:
                raise
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
        except UpstreamError as error:
            if exchange.has_begun:
                is_cut_short = True
                log.warning(
                    "the upstream ended the response early", extra={"reason": type(error).__name__}
                )
            elif not exchange.is_gone:
                status = 504 if isinstance(error, Silent) else 502
                raise Refusal(status, "upstream_error", str(error)) from None
        finally:
            exchange.is_done = True
            if watching is not None:
                watching.cancel()
        if exchange.has_begun and exchange.outcome.learns and 200 <= answer.status < 300:
            await self._learn(exchange, answer)
        if is_cut_short:
            raise CutShort

    def _keeps_credentials(self, exchange: _Exchange) -> bool:
        """Whether to forward the client's own credentials."""
        if self._upstream_key is not None:
            return False
        if exchange.wishes.memory_key is not None:
            return True
        # One of our keys must not be sent upstream, also if it could not be looked up.
        return exchange.outcome.owner is None and not exchange.outcome.is_unsure

    async def _pass_on(self, exchange: _Exchange, answer: Answer) -> None:
        outcome, send = exchange.outcome, exchange.send
        reports = exchange.format is not None and outcome.owner is not None
        headers = for_client(answer.headers, reports=reports)
        if reports:
            headers.append((b"x-memory-injected", b"%d" % outcome.count))
            headers.append((b"x-memory-tokens", b"%d" % outcome.tokens))
            if outcome.error is not None:
                headers.append((b"x-memory-error", outcome.error.encode()))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        exchange.has_begun = True
        kept: list[bytes] = []
        size = 0
        async for piece in answer.pieces():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            size += len(piece)
            if outcome.learns and size <= MAX_ANSWER:
                kept.append(piece)
        exchange.is_done = True
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        exchange.pieces = kept if size <= MAX_ANSWER else None

    async def _learn(self, exchange: _Exchange, answer: Answer) -> None:
        """Queue what was said; if the response was cut off, only the user's part."""
        outcome = exchange.outcome
        if outcome.owner is None or outcome.turn is None or exchange.format is None:
            return
        said = None
        if exchange.pieces is not None:
            body = b"".join(exchange.pieces)
            how: dict[str, Any] = {
                "content_type": value_of(answer.headers, b"content-type"),
                "encoding": value_of(answer.headers, b"content-encoding"),
            }
            if len(body) <= _SHORT:
                said = answer_text(body, exchange.format, **how)
            else:
                said = await asyncio.to_thread(answer_text, body, exchange.format, **how)
        self._learner.add(
            Lesson(
                outcome.owner,
                exchange.wishes.session_id,
                outcome.turn.digest,
                outcome.turn.text,
                said,
            )
        )

    async def _streamed(self, exchange: _Exchange, first: bytes) -> AsyncIterator[bytes]:
        """The body as it arrives. After its end, watch the client."""
        if first:
            yield first
        while True:
            message = await exchange.receive()
            if message["type"] == "http.disconnect":
                exchange.is_gone = True
                raise asyncio.CancelledError
            yield message.get("body", b"")
            if not message.get("more_body", False):
                break
        task = asyncio.ensure_future(_watch(exchange, asyncio.current_task()))
        _WATCHING.add(task)
        task.add_done_callback(_WATCHING.discard)


_WATCHING: set["asyncio.Future[None]"] = set()


async def _watch(exchange: _Exchange, work: "asyncio.Task[Any] | None") -> None:
    """Wait for the client to disconnect, and cancel its request."""
    while not exchange.is_done:
        message = await exchange.receive()
        if message["type"] == "http.disconnect":
            if not exchange.is_done and work is not None:
                exchange.is_gone = True
                work.cancel()
            return


async def _read(exchange: _Exchange) -> tuple[bytes, bool]:
    """The body, and whether it is complete: a very long one is not read to the end."""
    parts: list[bytes] = []
    size = 0
    while True:
        message: Message = await exchange.receive()
        if message["type"] == "http.disconnect":
            exchange.is_gone = True
            raise Refusal(400, "client_gone", "the client disconnected")
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if not message.get("more_body", False):
            return b"".join(parts), True
        if size > MAX_READ:
            return b"".join(parts), False


async def _refuse(send: Send, refusal: Refusal, *, is_anthropic: bool) -> None:
    if is_anthropic:
        kind = "authentication_error" if refusal.status == 401 else "api_error"
        shown: dict[str, Any] = {
            "type": "error",
            "error": {"type": kind, "message": refusal.message},
        }
    else:
        kind = "invalid_request_error" if refusal.status == 401 else "server_error"
        shown = {
            "error": {
                "message": refusal.message,
                "type": kind,
                "param": None,
                "code": refusal.code,
            }
        }
    body = orjson.dumps(shown)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
    ]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    elif refusal.status == 503:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _is_anthropic(scope: Scope) -> bool:
    path: str = scope["path"]
    return path == "/v1/messages" or path.startswith("/v1/messages/")


def _has_body(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(
        (name == b"content-length" and value.strip() != b"0") or name == b"transfer-encoding"
        for name, value in headers
    )


def _is_encoded(headers: list[tuple[bytes, bytes]]) -> bool:
    return value_of(headers, b"content-encoding").strip().lower() not in ("", "identity")


def _label(outcome: Outcome) -> str:
    if outcome.error is not None:
        return outcome.error
    return "injected" if outcome.count else "none"
