"""The three calls that an agent makes in every turn, as plain ASGI.

Starlette's Request and Response would cost as much as everything else the gateway does for them.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from gateway import wire
from gateway.credentials import refuse_in_url
from gateway.results import to_json
from serving.whole import JsonBytes

Handler = Callable[[Scope, dict[str, Any]], Awaitable[Mapping[str, Any]]]
"""Takes the scope, for its headers, and the fields of the body; returns the response body."""


class Call:
    """JSON object in, JSON object out. The guard around it reports failures."""

    def __init__(self, handle: Handler) -> None:
        self._handle = handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refuse_in_url(scope)
        answer = to_json(await self._handle(scope, wire.read_object(await _body(receive))))
        await JsonBytes(answer)(scope, receive, send)


async def _body(receive: Receive) -> bytes:
    """The whole body; the guard limits its size."""
    chunks = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(chunks)
