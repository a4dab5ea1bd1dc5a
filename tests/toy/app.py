import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Scope

from postgres.database import Database
from postgres.errors import StoreUnavailable
from postgres.notices import Notices
from postgres.provide import database_for
from postgres.schema import Schema
from postgres.statements import Statements
from serving.background import background
from serving.errors import Refused
from serving.guard import application
from serving.metrics import Metrics, metrics_route
from serving.plugin import plugin_for
from serving.stopping import until_stopping
from tests.toy.settings import Settings

NAME = "memory-toy"
SCHEMA = Schema("memory_toy", package="tests.toy.schema")
STATEMENTS = Statements("tests.toy.sql")

log = logging.getLogger(__name__)


@contextmanager
def prepare(settings: Settings) -> Iterator[Settings]:
    with (
        database_for(settings, SCHEMA, command=NAME) as settings,
        plugin_for(settings, NAME) if settings.with_plugin else nullcontext(settings) as settings,
    ):
        yield settings


def answer(error: Exception, _: Scope) -> Response | None:
    match error:
        case StoreUnavailable():
            return JSONResponse({"error": error.message}, 503, {"retry-after": "1"})
        case Refused():
            body = {"error": error.message, "code": error.code}
            return JSONResponse(body, error.status, error.headers)
    return None


class Notes:
    """The handlers."""

    def __init__(self, database: Database, plugin_url: str | None) -> None:
        self._database = database
        self._plugin_url = plugin_url
        self._changed = asyncio.Event()

    def wake(self, _: str = "") -> None:
        """There is another note, from any worker."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def add(self, request: Request) -> Response:
        text = (await request.body()).decode()
        key = await self._database.fetchval(STATEMENTS.load("add_note"), text)
        return JSONResponse({"id": key, "worker": os.getpid()}, 201)

    async def slow(self, _: Request) -> Response:
        await self._database.fetchval("SELECT pg_advisory_xact_lock(1) IS NULL")
        return JSONResponse({})

    async def fail(self, _: Request) -> Response:
        raise RuntimeError("a secret")

    async def upload(self, request: Request) -> Response:
        size = 0
        async for part in request.stream():
            size += len(part)
        return JSONResponse({"bytes": size})

    async def stream(self, request: Request) -> Response:
        return StreamingResponse(
            until_stopping(request, self._events()), media_type="text/event-stream"
        )

    async def endless(self, _: Request) -> Response:
        """A stream that ignores that the server is stopping."""
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def health(self, _: Request) -> Response:
        up = await self._database.is_up()
        return JSONResponse({"plugin": self._plugin_url, "pid": os.getpid()}, 200 if up else 503)

    async def _events(self) -> AsyncIterator[str]:
        seen = 0
        try:
            while True:
                changed = self._changed
                for row in await self._database.fetch(STATEMENTS.load("list_notes"), seen):
                    seen = row["id"]
                    yield f"data: {row['text']}\n\n"
                await changed.wait()
        finally:
            log.info("stream ended")


def create_app(settings: Settings) -> Starlette:
    metrics = Metrics("memory_toy")
    database = Database(settings, name=NAME, search_path=SCHEMA.name)
    notes = Notes(database, settings.plugin_url)
    notices = Notices(settings, {"memory_toy": notes.wake}, name=NAME, resumed=notes.wake)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await database.open()
        async with background(notices.run):
            yield
        await database.close()

    return application(
        [
            Route("/notes", notes.add, methods=["POST"]),
            Route("/notes/stream", notes.stream),
            Route("/notes/endless", notes.endless),
            Route("/notes/{number}", notes.slow),
            Route("/fail", notes.fail),
            Route("/upload", notes.upload, methods=["POST"]),
            Route("/health", notes.health),
            metrics_route(metrics),
        ],
        metrics=metrics,
        answer=answer,
        max_body=settings.max_body,
        limits={("POST", "/upload"): settings.max_upload},
        token=settings.token,
        open_paths=["/health"],
        lifespan=lifespan,
    )
