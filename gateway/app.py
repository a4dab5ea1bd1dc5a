"""The application: the endpoints, what they use, and how failures are reported."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from contract import MemoryClient
from gateway.admin import Admin
from gateway.calls import Call
from gateway.chores import Chores
from gateway.deletion import Deletion
from gateway.endpoints import Endpoints
from gateway.errors import GatewayError, Unavailable, envelope
from gateway.extractor import Extractor
from gateway.facts import LateFacts
from gateway.flush import Flush
from gateway.locks import Locks
from gateway.memories import Memories
from gateway.messages import Messages
from gateway.metrics import Numbers
from gateway.models import Models
from gateway.plugin import Plugin
from gateway.recent import Recent
from gateway.resources import MAX_JSON, Resources
from gateway.schema import SCHEMA
from gateway.search import Search
from gateway.settings import Settings
from gateway.statements import load
from gateway.users import Users
from language.redaction import redact
from postgres.codecs import json_as_python
from postgres.database import Database
from postgres.errors import StoreUnavailable
from serving.background import background
from serving.errors import Refused
from serving.guard import application
from serving.metrics import Metrics, metrics_route

NAME = "memory-gateway"
MAX_BODY = 8 * 2**20

PLANS = {
    # Statements look up rows by key, so planning again would give the same plan.
    "plan_cache_mode": "force_generic_plan",
    # Every flush leaves dead index entries. A plain index scan marks them and stops early; a bitmap
    # scan reads them all, and more with every flush of a long chat.
    "enable_bitmapscan": "off",
    # Most rows are cached. The default assumes spinning disks, and would read a thousand rows to
    # find a dozen.
    "random_page_cost": "1.1",
}
_CODES = {413: "too_large", 429: "too_many_requests"}


def create_app(settings: Settings, client: MemoryClient | None = None) -> Starlette:
    """The gateway for these settings. The schema of the database must be up to date.

    `client` replaces the client of the plugin that the settings name.
    """
    metrics = Metrics("memory_gateway")
    numbers = Numbers(metrics)
    database = Database(
        settings, name=NAME, search_path=SCHEMA.name, session=PLANS, prepare=json_as_python
    )
    plugin = Plugin(settings.plugin_url or "", settings.plugin_token, numbers, client)
    models = Models(settings, numbers)
    locks = Locks(database, SCHEMA.lock, most=max(1, settings.pool_size // 3))
    clean = _redactor(settings, numbers)
    admin = Admin(settings.admin_token)
    recent = Recent()
    flush = Flush(database, plugin, locks, models, recent, numbers)
    deletion = Deletion(database, plugin, locks, numbers)
    facts = LateFacts(database, locks, flush, models, clean)
    extractor = Extractor(redact=settings.redact)
    chores = Chores(database, flush, deletion, facts, settings.idle_flush)
    users = Users(database)
    endpoints = Endpoints(
        admin=admin,
        users=users,
        messages=Messages(database, users, recent, clean),
        flush=flush,
        search=Search(database, plugin, models),
        memories=Memories(database, plugin, locks, models, clean),
        deletion=deletion,
        resources=Resources(database, extractor, flush, numbers, clean, SCHEMA.lock),
        database=database,
        plugin=plugin,
        models=models,
    )

    async def refresh() -> None:
        is_up = await database.is_up()
        numbers.store_up.set(is_up)
        row = await database.fetchrow(load("waiting")) if is_up else None
        for what, count in dict(row or {}).items():
            numbers.waiting.labels(what).set(count)

    show_metrics = metrics_route(metrics, refresh)

    async def guarded_metrics(request: Request) -> Response:
        if admin.has_token:
            admin.require_token(request)
        shown: Response = await show_metrics.endpoint(request)
        return shown

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await database.open()
        async with background(
            chores.finish_flushes,
            chores.flush_idle,
            chores.finish_deletions,
            chores.ask_for_facts,
            chores.forget_keys,
        ):
            yield
        await locks.aclose()
        await models.aclose()
        await plugin.aclose()
        await database.close()

    return application(
        [*_routes(endpoints), Route("/metrics", guarded_metrics)],
        metrics=metrics,
        answer=answer,
        max_body=MAX_BODY,
        limits={("POST", "/resources"): MAX_JSON},
        lifespan=lifespan,
    )


def _routes(endpoints: Endpoints) -> list[Route]:
    def route(method: str, path: str, endpoint: Any) -> Route:
        it = Route(path, endpoint, methods=[method])
        it.methods = {method}  # Starlette adds HEAD to GET
        return it

    # Load balancers send HEAD.
    health = Route("/health", endpoints.health)

    return [
        route("POST", "/memories/search", Call(endpoints.search)),
        route("POST", "/memories/add", Call(endpoints.add)),
        route("POST", "/memories/flush", Call(endpoints.flush)),
        route("PATCH", "/memories/{id}", endpoints.edit),
        route("DELETE", "/memories/{id}", endpoints.delete_memory),
        # The name of a session may contain a slash.
        route("DELETE", "/sessions/{session_id:path}", endpoints.delete_session),
        route("POST", "/resources", endpoints.upload),
        route("GET", "/resources", endpoints.list_resources),
        route("GET", "/resources/{resource_id}", endpoints.get_resource),
        route("DELETE", "/resources/{resource_id}", endpoints.delete_resource),
        route("POST", "/users", endpoints.create_user),
        route("POST", "/users/{user_id}/rotate-key", endpoints.rotate_key),
        route("DELETE", "/users/{user_id}", endpoints.delete_user),
        route("GET", "/users/{user_id}/export", endpoints.export),
        health,
        route("GET", "/openapi.json", endpoints.openapi),
    ]


def answer(error: Exception, _scope: Scope) -> Response | None:
    """The response to an error, or None if it is not one of ours."""
    match error:
        case GatewayError():
            return _refusal(error.status, error.envelope(), error.headers)
        case StoreUnavailable():
            down = Unavailable("the database does not answer", retry_after=error.retry_after)
            return _refusal(down.status, down.envelope(), down.headers)
        case Refused():
            code = _CODES.get(error.status, error.code)
            body = envelope(code, error.message, dict(error.details or {}))
            return _refusal(error.status, body, error.headers)
    return None


def bad_request_body(message: str) -> bytes:
    """The body of the 400 to bytes that are not HTTP."""
    return orjson.dumps(envelope("bad_request", message))


def _refusal(status: int, body: dict[str, Any], headers: dict[str, str]) -> Response:
    return Response(orjson.dumps(body), status, headers, media_type="application/json")


def _redactor(settings: Settings, numbers: Numbers) -> Callable[[str], str]:
    if not settings.redact:
        return lambda text: text

    def clean(text: str) -> str:
        text, count = redact(text)
        if count:
            numbers.secrets_replaced.inc(count)
        return text

    return clean
