"""A request on its way to its endpoint.

Everything is checked in the same order: the caller (401), the conversation (404, 403), and only
then parameters and body (400).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes
from uuid import UUID

from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from conversations import exact
from conversations.access import Access, Caller, Grant, Level
from conversations.errors import BadRequest, Forbidden, NotFound, Unauthorized
from conversations.fields import Fields, Parameters
from conversations.ids import find_uuid
from conversations.tokens import Agents, Tokens, bearer

CONVERSATION = "conversationId"


@dataclass(slots=True)
class Call:
    """An authorised request. `grant` is the conversation, if the path names one.

    It is None for an endpoint whose own statement checks access; `enter` checks it separately.
    """

    scope: Scope
    receive: Receive
    caller: Caller
    access: Access
    least: Level
    grant: Grant | None = None

    @property
    def user(self) -> str:
        """The calling user; every user endpoint has one."""
        if self.caller.user is None:
            raise TypeError("this endpoint is not for users")
        return self.caller.user

    @property
    def agent(self) -> str:
        """The calling agent; every agent endpoint has one."""
        if self.caller.agent is None:
            raise TypeError("this endpoint is not for agents")
        return self.caller.agent

    @property
    def place(self) -> Grant:
        """The conversation, for endpoints with one in their path."""
        if self.grant is None:
            raise TypeError("this endpoint has no conversation")
        return self.grant

    @property
    def conversation(self) -> UUID:
        return self.place.conversation

    async def enter(self) -> Grant:
        """The conversation in the path; raises if the caller may not use it."""
        return await self.access.enter(self.caller, self.segment(CONVERSATION), self.least)

    def require(self, least: Level) -> None:
        """Require a higher level than the endpoint does."""
        level = self.place.level
        if level is not None and level < least:
            raise Forbidden(f"this requires the level {least.word}; yours is {level.word}")

    def key(self, name: str, resource: str) -> UUID:
        """A UUID in the path; anything else is a 404."""
        text = self.segment(name)
        found = find_uuid(text)
        if found is None:
            raise NotFound(resource, text)
        return found

    def segment(self, name: str) -> str:
        """A segment of the path, percent-decoded once."""
        return _decoded(self.scope["path_params"][name])

    @property
    def parameters(self) -> Parameters:
        return Parameters(QueryParams(self.scope["query_string"]))

    def header(self, name: str) -> str | None:
        return _header(self.scope, name)

    async def fields(self) -> Fields:
        """The body, read as a JSON object regardless of its content type."""
        return Fields(exact.load_body(await _body(self.receive)))


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method and path, the least level on the conversation in the path, and the handler.

    `decides`: the handler's own statement checks the level.
    """

    method: str
    path: str
    least: Level | None
    handler: Handler
    decides: bool = False

    @property
    def is_for_agents(self) -> bool:
        return self.path.startswith("/v1/agent/")


class Reception:
    """Authenticates callers and lets them through to an endpoint."""

    def __init__(self, tokens: Tokens, agents: Agents, access: Access) -> None:
        self._tokens = tokens
        self._agents = agents
        self._access = access

    def route(self, endpoint: Endpoint) -> Route:
        return Route(endpoint.path, _Door(self, endpoint), methods=[endpoint.method])

    async def let_in(self, endpoint: Endpoint, scope: Scope, receive: Receive) -> Call:
        """An authorised call; raises if the caller may not make it."""
        caller = await self._identify(scope, endpoint.is_for_agents)
        call = Call(scope, receive, caller, self._access, endpoint.least or Level.READER)
        if endpoint.least is not None and not endpoint.decides:
            call.grant = await call.enter()
        return call

    async def _identify(self, scope: Scope, is_for_agents: bool) -> Caller:
        """The user, the agent or both, from the headers."""
        authorization = _header(scope, "Authorization")
        if not is_for_agents:
            if authorization is None:
                raise Unauthorized("Authorization: a bearer token is required")
            return Caller(await self._tokens.user(bearer(authorization)))
        key = _header(scope, "X-API-Key")
        if key is None:
            if authorization is None:
                raise Unauthorized("X-API-Key: a known key is required")
            await self._tokens.user(bearer(authorization))
            raise Forbidden("this is for agents: an X-API-Key is required")
        agent = self._agents.name(key)
        # An invalid token must not leave the agent with wider access than it asked for.
        user = None
        if authorization is not None:
            user = await self._tokens.user(bearer(authorization))
        return Caller(user, agent)


class _Door:
    """The ASGI application of an endpoint.

    Starlette would wrap a function in exception handlers; the guard does that already.
    """

    def __init__(self, reception: Reception, endpoint: Endpoint) -> None:
        self._reception = reception
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = await self._reception.let_in(self._endpoint, scope, receive)
        response = await self._endpoint.handler(call)
        await response(scope, receive, send)


def _header(scope: Scope, name: str) -> str | None:
    """The header of that name; given twice, the values must be equal."""
    wanted = name.lower().encode()
    found: bytes | None = None
    for key, value in scope["headers"]:
        if key == wanted:
            if found is not None and found != value:
                raise BadRequest(name, "appears twice, with different values")
            found = value
    return None if found is None else found.decode("latin-1")


async def _body(receive: Receive) -> bytes:
    chunks: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(chunks)


def _decoded(raw: str) -> str:
    """Routes match the raw path, so that an encoded slash stays in its segment."""
    if "%" not in raw:
        return raw
    return unquote_to_bytes(raw).decode("utf-8", "replace")
