"""The page, its files, and the one request it sends here: for an answer of the model."""

import asyncio
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from demo.chat.model import answer

_HERE = Path(__file__).parent
_HOUSE_STYLE = _HERE.parents[1] / "harness" / "render" / "report.css"


def application(api: str) -> Starlette:
    """The demo, on top of a conversations server."""
    answering: set[asyncio.Task[None]] = set()

    async def page(_: Request) -> Response:
        return HTMLResponse((_HERE / "chat.html").read_text("utf-8").replace("{api}", api))

    async def ask(request: Request) -> Response:
        task = asyncio.create_task(answer(api, request.path_params["conversation"]))
        answering.add(task)
        task.add_done_callback(answering.discard)
        return Response(status_code=202)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/house.css", lambda _: FileResponse(_HOUSE_STYLE)),
            Route("/chat.css", lambda _: FileResponse(_HERE / "chat.css")),
            Route("/chat.js", lambda _: FileResponse(_HERE / "chat.js")),
            Route("/answer/{conversation:uuid}", ask, methods=["POST"]),
        ]
    )
