"""One request on its way to its endpoint: who asks, for what, and with which body.

The order is the same everywhere: who is asking (401), the conversation (404, 403), and only then
parameters and body (400).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conversations import exact
from conversations.access import Access, Caller, Grant, Level
from conversations.errors import Forbidden, NotFound, Unauthorized
from conversations.fields import Fields, Parameters, find_uuid
from conversations.tokens import Agents, Tokens, bearer

CONVERSATION = "conversationId"


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was let in. `grant` is the conversation, where the path names one."""

    request: Request
    caller: Caller
    grant: Grant | None

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
        return _decoded(self.request.path_params[name])

    @property
    def parameters(self) -> Parameters:
        return Parameters(self.request.query_params)

    async def fields(self) -> Fields:
        """The body, a JSON object whatever its content type says."""
        return Fields(exact.load_body(await self.request.body()))


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method and a path, the least level on the conversation it names, and what answers."""

    method: str
    path: str
    least: Level | None
    handler: Handler

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
        async def serve(request: Request) -> Response:
            caller = await self._identify(request, endpoint.is_for_agents)
            grant = None
            if endpoint.least is not None:
                conversation = _decoded(request.path_params[CONVERSATION])
                grant = await self._access.enter(caller, conversation, endpoint.least)
            return await endpoint.handler(Call(request, caller, grant))

        return Route(endpoint.path, serve, methods=[endpoint.method])

    async def _identify(self, request: Request, is_for_agents: bool) -> Caller:
        authorization = request.headers.get("authorization")
        if not is_for_agents:
            if authorization is None:
                raise Unauthorized("Authorization: a bearer token is required")
            return Caller(await self._tokens.user(bearer(authorization)))
        key = request.headers.get("x-api-key")
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


def _decoded(raw: str) -> str:
    """Routes match the path as it was sent, so that an encoded slash stays in its segment."""
    return unquote_to_bytes(raw).decode("utf-8", "replace")
