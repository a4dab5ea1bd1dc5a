"""Responses whose body is known when they begin, sent in one step instead of two."""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from serving.exchange import WHOLE


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
