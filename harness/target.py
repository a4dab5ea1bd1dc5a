"""The plugin under test: a URL, a unix socket, or an ASGI application in this process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx

from contract.address import Address
from contract.httpx_transport import HttpxTransport
from contract.transport import MAX_ANSWER, HttpTransport, Transport
from harness.errors import ConfigurationError
from harness.exchange import AT_ONCE, Wire

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Message, Receive, Send], Awaitable[None]]
Target = str | AsgiApp


def describe(target: Target) -> str:
    """The target's name in a report."""
    if isinstance(target, str):
        return str(_address(target))
    name = getattr(target, "__qualname__", None) or type(target).__qualname__
    return f"asgi:{getattr(target, '__module__', type(target).__module__)}.{name}"


def _address(url: str) -> Address:
    try:
        return Address.parse(url)
    except ValueError as error:
        raise ConfigurationError(f"{url!r}: {error}") from None


@asynccontextmanager
async def connect(target: Target, token: str | None) -> AsyncIterator[Wire]:
    """The wire to the target. An application is started before and stopped after."""
    watched = None
    transport: Transport
    async with AsyncExitStack() as stack:
        if isinstance(target, str):
            transport = HttpTransport(_address(target), max_connections=AT_ONCE)
        else:
            await stack.enter_async_context(_lifespan(target))
            watched = _Watched(target)
            in_process = httpx.ASGITransport(watched, raise_app_exceptions=False)
            transport = HttpxTransport(in_process, "http://plugin", MAX_ANSWER)
        stack.push_async_callback(transport.aclose)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        yield Wire(transport, headers, watched.why_it_broke if watched else None)


class _Watched:
    """An application, and the last exception that it raised instead of an answer."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self._raised: Exception | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        self._raised = None
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            self._raised = error
            raise

    def why_it_broke(self) -> str | None:
        """Type and message of the exception; to be shown only if the request had no content."""
        if self._raised is None:
            return None
        return f"{type(self._raised).__qualname__}: {self._raised}".removesuffix(": ")


@asynccontextmanager
async def _lifespan(app: AsgiApp) -> AsyncIterator[None]:
    """Run the application's startup and shutdown, as a server would."""
    inbox: asyncio.Queue[Message] = asyncio.Queue()
    outbox: asyncio.Queue[Message] = asyncio.Queue()

    async def talk() -> None:
        try:
            await app({"type": "lifespan", "asgi": {"version": "3.0"}}, inbox.get, outbox.put)
        except Exception:  # noqa: BLE001 (an application without lifespan raises what it likes)
            await outbox.put({"type": "lifespan.unsupported"})
        else:
            await outbox.put({"type": "lifespan.ended"})

    task = asyncio.create_task(talk())
    await inbox.put({"type": "lifespan.startup"})
    started = await outbox.get()
    if started["type"] == "lifespan.startup.failed":
        await task
        raise ConfigurationError(f"the application did not start: {started.get('message', '')}")
    try:
        yield
    finally:
        await inbox.put({"type": "lifespan.shutdown"})
        await task
