"""One request on its way to its endpoint: who asks, for what, and with which body.

The order is the same everywhere: who is asking (401), the conversation (404, 403), and only then
parameters and body (400).
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

    Of an endpoint that decides with what it writes it is None: `enter` decides without.
    """

    scope: Scope
    receive: Receive
    caller: Caller
    access: Access
    least: Level
    grant: Grant | None = None

    @property
    def user(self) -> str:
        """The user who asks; endpoints for users have one."""
        if self.caller.user is None:
            raise TypeError("this endpoint is not for users")
        return self.caller.user

    @property
    def agent(self) -> str:
        """The agent that asks; endpoints for agents have one."""
        if self.caller.agent is None:
            raise TypeError("this endpoint is not for agents")
        return self.caller.agent

    @property
    def place(self) -> Grant:
        """The conversation; endpoints with one in their path have it."""
        if self.grant is None:
            raise TypeError("this endpoint has no conversation")
        return self.grant

    @property
    def conversation(self) -> UUID:
        return self.place.conversation

    async def enter(self) -> Grant:
        """The conversation that the path names, or the refusal of one who may not go there."""
        return await self.access.enter(self.caller, self.segment(CONVERSATION), self.least)

    def require(self, least: Level) -> None:
        """For what only some may do at an endpoint that is open to more."""
        level = self.place.level
        if level is not None and level < least:
            raise Forbidden(f"this needs the level {least.word}; yours is {level.word}")

    def key(self, name: str, resource: str) -> UUID:
        """A UUID in the path; anything else names nothing."""
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
    """A method and a path, the least level on the conversation it names, and what answers.

    `decides`: the handler has the level checked by the statement that writes.
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
    """Finds out who calls and lets them through to an endpoint."""

    def __init__(self, tokens: Tokens, agents: Agents, access: Access) -> None:
        self._tokens = tokens
        self._agents = agents
        self._access = access

    def route(self, endpoint: Endpoint) -> Route:
        return Route(endpoint.path, _Door(self, endpoint), methods=[endpoint.method])

    async def let_in(self, endpoint: Endpoint, scope: Scope, receive: Receive) -> Call:
        """A call of somebody who may make it, or the refusal."""
        caller = await self._identify(scope, endpoint.is_for_agents)
        call = Call(scope, receive, caller, self._access, endpoint.least or Level.READER)
        if endpoint.least is not None and not endpoint.decides:
            call.grant = await call.enter()
        return call

    async def _identify(self, scope: Scope, is_for_agents: bool) -> Caller:
        """The user, the agent, or both that the headers name."""
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
        # A token that does not hold must not leave the agent with more than it asked for.
        user = None
        if authorization is not None:
            user = await self._tokens.user(bearer(authorization))
        return Caller(user, agent)


class _Door:
    """The ASGI application of an endpoint.

    Starlette would put layers for exceptions around a function; the guard does that already.
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
    """Routes match the path as it was sent, so that an encoded slash stays in its segment."""
    if "%" not in raw:
        return raw
    return unquote_to_bytes(raw).decode("utf-8", "replace")
