"""Everybody writes to one conversation at once: all are served, and nobody is told to retry."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest

from tests.acceptance.command import Running
from tests.acceptance.conversations.people import Agent, User
from tests.waiting import SECONDS

pytestmark = pytest.mark.anyio

REQUESTS = 40
CLIENTS = 3

Write = Callable[[int], Awaitable[httpx.Response]]


@pytest.fixture
async def client(server: Running) -> AsyncIterator[httpx.AsyncClient]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=server.address, timeout=SECONDS, limits=limits) as client:
        yield client


async def test_writers_of_one_conversation_never_wait_for_each_other(
    server: Running, client: httpx.AsyncClient, alice: User, bob: User, bot: Agent
) -> None:
    talk = alice.start()
    first = alice.say(talk, "first")["id"]
    gone = [alice.fork(talk, first, "to be deleted") for _ in range(REQUESTS)]
    answered: Counter[tuple[str, int]] = Counter()

    def post(person: User | Agent, path: str, body: object) -> Awaitable[httpx.Response]:
        return client.post(path, headers=person.headers, json=body)

    async def write(what: str, request: Write) -> None:
        for number in range(REQUESTS):
            answer = await request(number)
            answered[what, answer.status_code] += 1

    def append(number: int) -> Awaitable[httpx.Response]:
        return post(alice, f"{talk.user}/messages", {"content": f"message {number}"})

    def fork(number: int) -> Awaitable[httpx.Response]:
        body = {"newMessage": {"content": f"fork {number}"}}
        return post(alice, f"{talk.user}/messages/{first}/fork", body)

    def sync(number: int) -> Awaitable[httpx.Response]:
        body = {"messages": [{"content": f"memory {number} of {id(asyncio.current_task())}"}]}
        return post(bot, f"{talk.agent}/memory/messages/sync", body)

    def respond(_: int) -> Awaitable[httpx.Response]:
        return post(bot, f"{talk.agent}/response", {"store": True})

    async def transfer(_: int) -> httpx.Response:
        path = f"{talk.user}/transfer-ownership"
        started = await post(alice, path, {"newOwnerUserId": bob.name})
        path = f"/v1/user/ownership-transfers/{started.json()['id']}/cancel"
        return await post(alice, path, {})

    def delete(number: int) -> Awaitable[httpx.Response]:
        return client.delete(f"{gone[number].user}?scope=branch", headers=alice.headers)

    several: dict[str, Write] = {"append": append, "fork": fork, "sync": sync, "respond": respond}
    writers = [write(what, request) for what, request in several.items() for _ in range(CLIENTS)]
    await asyncio.gather(*writers, write("transfer", transfer), write("delete", delete))

    assert answered == {
        ("append", 201): CLIENTS * REQUESTS,
        ("fork", 201): CLIENTS * REQUESTS,
        ("sync", 200): CLIENTS * REQUESTS,
        ("respond", 201): CLIENTS * REQUESTS,
        ("transfer", 200): REQUESTS,
        ("delete", 204): REQUESTS,
    }
    assert not [line for line in server.lines if "40P01" in line]
    assert len(alice.reads(talk, "?limit=1000")) == 1 + CLIENTS * REQUESTS
