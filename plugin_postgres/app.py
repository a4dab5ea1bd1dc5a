"""The application: the contract's paths and their handlers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import lru_cache

from starlette.applications import Starlette
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from plugin_postgres.database import Database
from plugin_postgres.endpoints import Endpoints
from plugin_postgres.indexer import Indexer
from plugin_postgres.janitor import Janitor
from plugin_postgres.listing import Listing
from plugin_postgres.memories import Memories
from plugin_postgres.metrics import Metrics
from plugin_postgres.newest import NewestQueue
from plugin_postgres.pending import PendingList
from plugin_postgres.route import ApiRoute, Handler, Method
from plugin_postgres.search import Search
from plugin_postgres.settings import Settings
from plugin_postgres.writes import WriteQueue

_GAUGE_SECONDS = 1.0
_DRAIN_SECONDS = 1.0
_PATHS = 4096
_LONGEST_PATH = 1024


def create_app(settings: Settings) -> Starlette:
    """The plugin on the database at `settings.database_url`, whose schema is up to date."""
    metrics = Metrics()
    database = Database(settings)
    pending = PendingList(database)
    queue = WriteQueue(database, pending, metrics, limit=settings.write_queue)
    janitor = Janitor(database, metrics, settings)
    indexer = Indexer(database, settings)
    search = Search(database, NewestQueue(database))
    endpoints = Endpoints(
        database,
        Memories(database, queue, settings),
        Listing(database),
        search,
        pending,
        metrics,
        settings,
    )

    def route(
        path: str, methods: Mapping[str, Handler], max_body: int = settings.max_body
    ) -> Route:
        # Load balancers and supervisors check the health without a token.
        token = None if path == "/v1/health" else settings.token
        handlers = {name: Method(handle, max_body) for name, handle in methods.items()}
        if "GET" in handlers:
            handlers["HEAD"] = handlers["GET"]
        return Route(path, ApiRoute(path, handlers, metrics, token=token))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await database.open()
        background = [
            asyncio.create_task(janitor.run()),
            asyncio.create_task(indexer.run()),
            asyncio.create_task(pending.run()),
            asyncio.create_task(_watch_pool(database, metrics)),
        ]
        try:
            yield
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            # Requests have had their time; writes that are still waiting have lost their callers.
            with suppress(TimeoutError):
                async with asyncio.timeout(_DRAIN_SECONDS):
                    await queue.drain()
            await database.close()

    app = Starlette(
        routes=[
            route("/v1/namespaces/{name}/memories", {"POST": endpoints.write}),
            route("/v1/search", {"POST": endpoints.search}),
            route(
                "/v1/namespaces/{name}",
                {
                    "PUT": endpoints.put_namespace,
                    "PATCH": endpoints.patch_namespace,
                    "DELETE": endpoints.delete_namespace,
                },
            ),
            route("/v1/memories/batch", {"POST": endpoints.batch}, settings.max_batch_body),
            route("/v1/memories/list", {"POST": endpoints.list_page}),
            route("/v1/memories/count", {"POST": endpoints.count}),
            route("/v1/memories/{id}", {"GET": endpoints.get, "DELETE": endpoints.forget}),
            route("/v1/health", {"GET": endpoints.health}),
            route("/metrics", {"GET": endpoints.metrics}),
        ],
        lifespan=lifespan,
    )
    app.router.default = ApiRoute("none", {}, metrics, token=settings.token)
    # Routes handle every failure themselves; Starlette's own layers would only add cost.
    app.middleware_stack = _ByRawPath(app.router)
    return app


class _ByRawPath:
    """Finds the route by the path as it was sent: an encoded slash does not split a name.

    Clients use the same paths over and over, so the routes are cached.
    """

    def __init__(self, router: Router) -> None:
        self._router = router
        self._remembered = lru_cache(_PATHS)(self._find)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return self._router(scope, receive, send)
        raw: bytes = scope["raw_path"]
        find = self._remembered if len(raw) <= _LONGEST_PATH else self._find
        route, scope["path_params"] = find(raw)
        return route(scope, receive, send)

    def _find(self, raw: bytes) -> tuple[ASGIApp, dict[str, str]]:
        path = raw.decode("latin-1")
        for route in self._router.routes:
            if isinstance(route, Route) and (match := route.path_regex.match(path)):
                return route.app, match.groupdict()
        return self._router.default, {}


async def _watch_pool(database: Database, metrics: Metrics) -> None:
    while True:
        size, used = database.usage()
        metrics.pool_size.set(size)
        metrics.pool_used.set(used)
        await asyncio.sleep(_GAUGE_SECONDS)
