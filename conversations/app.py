"""The application: its endpoints, what it keeps open, and how failures are reported."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from contract import Breaker, MemoryClient, MemoryPluginError
from conversations.access import Access
from conversations.answers import answer, encode
from conversations.appends import Appends
from conversations.calls import Reception
from conversations.cors import Cors
from conversations.document import openapi
from conversations.embeddings import Embeddings
from conversations.endpoints import Services, endpoints
from conversations.errors import Refusal, envelope
from conversations.index import Index
from conversations.recorder import Recorder, TextLog
from conversations.responses import Responses
from conversations.search import Search
from conversations.settings import Settings
from conversations.statements import SCHEMA, SESSION
from conversations.tails import Tails
from conversations.text_postgres import PostgresText
from conversations.tokens import Agents, DevTokens, SignedTokens, Tokens, read_agent_keys
from postgres.database import Database
from postgres.errors import StoreUnavailable
from postgres.provide import database_for
from serving.background import background
from serving.errors import Refused
from serving.guard import application
from serving.metrics import Metrics, metrics_route
from serving.plugin import plugin_for

NAME = "memory-conversations"
_PLUGIN_HEALTH_SECONDS = 1.0
_BREAKER_SECONDS = 5.0
_CODES = {"body_too_large": "bad_request", "method_not_allowed": "bad_request"}


@contextmanager
def prepare(settings: Settings) -> Iterator[Settings]:
    """A database with our schema, and a plugin."""
    with (
        database_for(settings, SCHEMA, command=NAME) as with_database,
        plugin_for(with_database, NAME) as ready,
    ):
        yield ready


def create_app(settings: Settings) -> ASGIApp:
    """The service on a database whose schema is up to date."""
    metrics = Metrics("memory_conversations")
    database = Database(settings, name=NAME, search_path=SCHEMA.name, session=SESSION)
    # Retry soon after the plugin is back: the outbox has been waiting for it.
    breaker = Breaker(rest=_BREAKER_SECONDS)
    plugin = MemoryClient(settings.plugin_url, token=settings.plugin_token, breaker=breaker)
    access = Access(database)
    appends = Appends(database, access)
    embeddings = Embeddings(settings, metrics)
    index = Index(database, plugin, embeddings, metrics)
    text = _text(settings, database)
    recorder = Recorder(
        database, text, settings.response_idle_seconds, settings.response_retention_seconds
    )
    tails = Tails(database, text)
    tokens = _tokens(settings)
    responses = Responses(recorder, tails, access, tokens)
    services = Services.on(
        database,
        access,
        appends,
        Search(database, plugin, embeddings),
        text,
        None if settings.resumer == "none" else responses,
    )
    reception = Reception(tokens, Agents(read_agent_keys(settings.agent_keys)), access)
    works = [index.run]
    if settings.resumer != "none":
        works += [tails.run, tails.watch, responses.sweep]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await database.open()
        async with background(*works):
            yield
        await appends.drain()
        await plugin.aclose()
        await embeddings.aclose()
        await text.close()
        await database.close()

    async def health(_: Request) -> Response:
        return await _health(settings, database, plugin)

    async def document(_: Request) -> Response:
        return answer(200, openapi())

    app: ASGIApp = application(
        [
            *(reception.route(endpoint) for endpoint in endpoints(services)),
            Route("/v1/health", health),
            Route("/openapi.json", document),
            metrics_route(metrics, refresh=index.count),
        ],
        metrics=metrics,
        answer=refusal,
        max_body=settings.max_body,
        lifespan=lifespan,
        by_raw_path=True,
    )
    if settings.origins:
        app = Cors(
            app,
            allow_origins=settings.origins,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["authorization", "content-type", "last-event-id"],
            expose_headers=["retry-after"],
            max_age=3600,
        )
    return app


def refusal(error: Exception, _scope: Scope) -> Response | None:
    """The Error object for a known failure; None for an unexpected one."""
    match error:
        case Refusal():
            response = answer(error.status, envelope(error.code, error.message, error.details))
            response.headers.update(error.headers)
        case StoreUnavailable():
            response = answer(503, envelope("unavailable", error.message))
            response.headers["retry-after"] = "1"
        case Refused():
            code = _CODES.get(error.code, error.code)
            details = dict(error.details or {})
            if error.status == 413:
                details = {"field": "body", **details}
            response = answer(error.status, envelope(code, error.message, details))
            response.headers.update(error.headers)
        case _:
            return None
    return response


def bad_request_body(message: str) -> bytes:
    """The body of the 400 for bytes that are not HTTP."""
    return encode(envelope("bad_request", message))


def _tokens(settings: Settings) -> Tokens:
    if settings.dev_auth:
        return DevTokens()
    keys = None
    if settings.jwks_url:
        # Imported here: the HTTP client takes long to load.
        from conversations.jwks import KeySet

        keys = KeySet(settings.jwks_url)
    return SignedTokens(
        secret=settings.jwt_secret,
        keys=keys,
        issuer=settings.issuer,
        audience=settings.audience,
    )


def _text(settings: Settings, database: Database) -> TextLog:
    if settings.resumer == "redis" and settings.redis_url:
        # Imported here: the client of Redis takes long to load.
        from conversations.text_redis import RedisText

        return RedisText(database, settings.redis_url)
    return PostgresText(database)


async def _health(settings: Settings, database: Database, plugin: MemoryClient) -> Response:
    """Check both stores on every call; only PostgreSQL is required."""
    try:
        await plugin.health(timeout=_PLUGIN_HEALTH_SECONDS)
        plugin_state = "ok"
    except MemoryPluginError:
        plugin_state = "unavailable"
    facts = {
        "version": version("memory-plugins"),
        "plugin": plugin_state,
        "responseResumer": settings.resumer,
    }
    if await database.is_up():
        return answer(200, {"status": "ok", **facts})
    body = envelope("unavailable", "PostgreSQL is down")
    response = answer(503, {**body, "status": "unavailable", **facts})
    response.headers["retry-after"] = "1"
    return response
