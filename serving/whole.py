"""Responses whose body is known when they begin, sent in one step instead of two."""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from serving.exchange import WHOLE

_JSON = (b"content-type", b"application/json")


class WholeResponse(Response):
    """Starlette's, as one message where the server takes that."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if WHOLE not in scope.get("extensions", ()):
            await super().__call__(scope, receive, send)
            return
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
                "body": self.body,
            }
        )
        if self.background is not None:
            await self.background()


class JsonBytes(WholeResponse):
    """JSON that is encoded already; its headers are known without a search."""

    def __init__(self, body: bytes, status: int = 200) -> None:
        self.status_code = status
        self.body = body
        self.background = None
        self.raw_headers = [(b"content-length", b"%d" % len(body)), _JSON]
