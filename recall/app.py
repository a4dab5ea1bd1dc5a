"""The application of one worker: proxy, REST, MCP, dashboard."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from postgres.provide import database_for
from postgres.schema import Schema
from recall.access import DEV_MANAGEMENT_TOKEN, management_token
from recall.administration import administration_routes
from recall.dashboard import dashboard_routes
from recall.errors import answer
from recall.gate import Gate
from recall.mcp_http import McpEndpoint
from recall.proxy import Proxy
from recall.rest import memory_routes, single_routes
from recall.settings import Settings
from recall.worker import SCHEMA_NAME, Worker
from serving.background import background
from serving.guard import application
from serving.metrics import Metrics, metrics_route
from serving.plugin import plugin_for

SCHEMA = Schema(SCHEMA_NAME, package="recall.schema")
MAX_BODY = 2 * 2**20

log = logging.getLogger(__name__)


@contextmanager
def prepare(settings: Settings) -> Iterator[Settings]:
    """The settings with a database, a plugin and a management token."""
    with stores(with_token(settings)) as settings:
        yield settings


@contextmanager
def stores(settings: Settings) -> Iterator[Settings]:
    """The settings with a database and a plugin."""
    with (
        database_for(settings, SCHEMA, command="memory-recall") as settings,
        plugin_for(settings, "memory-recall") as settings,
    ):
        yield settings


def with_token(settings: Settings) -> Settings:
    """The settings with a management token, configured or from the data directory."""
    if settings.token is not None:
        return settings
    if settings.dev_auth:
        return replace(settings, token=DEV_MANAGEMENT_TOKEN)
    token, is_new = management_token(settings.data_dir)
    if is_new:
        # Shown only this once, and not in the log, which may be collected elsewhere.
        sys.stderr.write(f"management token: {token}\n")
        sys.stderr.flush()
    return replace(settings, token=token)


def create_app(settings: Settings) -> ASGIApp:
    """The application of one worker."""
    metrics = Metrics("memory_recall")
    worker = Worker(settings, metrics)

    mcp = McpEndpoint(worker, MAX_BODY)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with worker.running(), background(mcp.run):
            yield

    async def health(_request: Request) -> Response:
        is_plugin_up, is_database_up = await asyncio.gather(
            worker.is_plugin_up(), worker.database.is_up()
        )
        return JSONResponse(
            {
                "status": "ok" if is_plugin_up and is_database_up else "degraded",
                "plugin": "ok" if is_plugin_up else "down",
                "database": "ok" if is_database_up else "down",
            }
        )

    inner = application(
        [
            Route("/health", health, methods=["GET"]),
            metrics_route(metrics),
            *administration_routes(worker),
            *memory_routes(worker),
            *single_routes(worker),
            # Stateless: there is no stream to open with GET and no session to DELETE.
            # Many clients are configured with the slash at the end.
            *(Route(path, mcp, methods=["POST"]) for path in ("/mcp", "/mcp/")),
            *dashboard_routes(worker),
        ],
        metrics=metrics,
        answer=answer,
        max_body=MAX_BODY,
        limits={("POST", "/api/memory/import"): settings.max_body},
        lifespan=lifespan,
        middleware=[Middleware(Gate, worker)],
    )
    proxy = Proxy(
        worker.upstream,
        worker.recollection,
        worker.learner,
        metrics,
        upstream_key=settings.upstream_key,
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        # Proxied requests bypass limits, error envelope and router.
        if scope["type"] == "http" and scope["path"].startswith("/v1/"):
            await proxy(scope, receive, send)
        else:
            await inner(scope, receive, send)

    return app
