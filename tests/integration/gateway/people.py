"""The gateway in this process, and people who use it over HTTP."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from contract import MemoryClient
from gateway.app import create_app
from gateway.settings import Settings
from tests import timeouts
from tests.waiting import SECONDS

_CLOCK = itertools.count(1_780_000_000_000, 1000)
_NUMBERS = itertools.count(1)


def message(content: Any, role: str = "user", **fields: Any) -> dict[str, Any]:
    """A message that is later than those before it."""
    sender = {"user": "ann", "assistant": "bot", "tool": "shell"}.get(role, "ann")
    return {
        "sender_id": sender,
        "role": role,
        "timestamp": next(_CLOCK),
        "content": content,
    } | fields


def new_name() -> str:
    return f"user-{next(_NUMBERS)}"


def turn(question: str, answer: str = "Noted.") -> list[dict[str, Any]]:
    return [message(question), message(answer, "assistant")]


@dataclass
class Person:
    """A user with a key."""

    http: httpx.AsyncClient
    user_id: str
    key: str = field(repr=False)

    @property
    def credentials(self) -> dict[str, str]:
        return {"user_id": self.user_id, "user_key": self.key}

    @property
    def basic(self) -> tuple[str, str]:
        return self.user_id, self.key

    async def post(self, path: str, headers: Any = None, **fields: Any) -> httpx.Response:
        return await self.http.post(path, json={**self.credentials, **fields}, headers=headers)

    async def get(self, path: str, **params: Any) -> httpx.Response:
        return await self.http.get(path, params=params, auth=self.basic)

    async def delete(self, path: str, **params: Any) -> httpx.Response:
        return await self.http.delete(path, params=params, auth=self.basic)

    async def patch(self, memory_id: str, text: Any) -> httpx.Response:
        fields = {**self.credentials, "text": text}
        return await self.http.patch(f"/memories/{memory_id}", json=fields)

    async def add(self, session: str, *messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
        answer = await self.post(
            "/memories/add", session_id=session, messages=list(messages), **fields
        )
        return checked(answer, 200)

    async def flush(self, session: str, **fields: Any) -> dict[str, Any]:
        return checked(await self.post("/memories/flush", session_id=session, **fields), 200)

    async def say(self, session: str, *questions: str, **fields: Any) -> dict[str, Any]:
        """Add a turn for each question, and flush."""
        for question in questions:
            await self.add(session, *turn(question), **fields)
        return await self.flush(session, **fields)

    async def search(self, query: str, **fields: Any) -> list[dict[str, Any]]:
        fields = {"scope": ["all_user_memory"], **fields}
        found = checked(await self.post("/memories/search", query=query, **fields), 200)
        results: list[dict[str, Any]] = found["results"]
        return results

    async def texts(self, query: str, **fields: Any) -> list[str]:
        return [it["text"] for it in await self.search(query, **fields)]

    async def upload(self, text: str, status: int = 201, **fields: Any) -> dict[str, Any]:
        return checked(await self.post("/resources", text=text, **fields), status)

    async def upload_file(
        self, name: str, content: bytes, kind: str | None = None, **fields: Any
    ) -> httpx.Response:
        file: Any = (name, content) if kind is None else (name, content, kind)
        form = {**self.credentials, **fields}
        return await self.http.post("/resources", data=form, files={"file": file})


@dataclass
class Gateway:
    """A gateway that serves."""

    http: httpx.AsyncClient

    async def person(self, user_id: str | None = None) -> Person:
        """A new user, by default with a name that nobody had before."""
        user_id = user_id or new_name()
        made = checked(await self.http.post("/users", json={"user_id": user_id}), 201)
        return Person(self.http, user_id, made["user_key"])


def checked(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The body of an answer with this status; checks the Error envelope of an error."""
    assert answer.status_code == status, (answer.status_code, answer.text)
    body: dict[str, Any] = answer.json()
    if status >= 400:
        assert_envelope(answer)
    return body


def assert_envelope(answer: httpx.Response) -> None:
    body = answer.json()
    assert set(body) <= {"code", "message", "details"}
    assert isinstance(body["code"], str)
    assert isinstance(body["message"], str)
    assert body["message"]


@asynccontextmanager
async def gateway(
    database_url: str, client: MemoryClient, address: str = "127.0.0.1", **settings: Any
) -> AsyncIterator[Gateway]:
    """The gateway on a database with its schema, in front of the plugin of the client."""
    own = {**timeouts.LIMITS, **settings}
    app = create_app(Settings(database_url=database_url, **own), client)
    transport = httpx.ASGITransport(app, client=(address, 50_000))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://gateway", timeout=SECONDS) as http,
    ):
        yield Gateway(http)
