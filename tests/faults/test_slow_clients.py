"""Slow and misbehaving clients: all others are served as before."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from statistics import median
from time import perf_counter

import pytest

from tests.faults.cluster import Postgres
from tests.faults.consistency import assert_consistent
from tests.faults.load import Load
from tests.faults.plugin import Plugin
from tests.faults.raw_http import Connection, open_many, request

pytestmark = pytest.mark.anyio

WRITE = "/v1/namespaces/workspace:1/memories"
# How often each of the others is served meanwhile: nobody who is starved gets that far.
TIMES = 50
# In a shorter time, latency mostly reflects other work on the machine.
LONG_SECONDS = 10.0
# The machine is shared: twice as slow is noise, ten times as slow means that clients are starved.
SAME_SPEED = 2.0
# A burst of other work spoils one comparison; starved clients are slow in all of them.
ATTEMPTS = 10


@asynccontextmanager
async def idle(address: str) -> AsyncIterator[None]:
    """More silent connections than a process may have open files by default."""
    crowd = await open_many(address, 1200)
    try:
        yield
    finally:
        for connection in crowd:
            connection.close()


@asynccontextmanager
async def half_sent(address: str) -> AsyncIterator[None]:
    """100 requests whose second half never arrives: of the head, or of the body."""
    whole = request("POST", WRITE, {"content": "x" * 2000, "kind": "fact", "source": "user"})
    crowd = await open_many(address, 100)
    try:
        for number, connection in enumerate(crowd):
            await connection.send(whole[: 30 if number % 2 else len(whole) // 2])
        yield
    finally:
        for connection in crowd:
            connection.close()


@asynccontextmanager
async def dripping(address: str) -> AsyncIterator[None]:
    """100 bodies that arrive one byte at a time."""
    head = f"POST {WRITE} HTTP/1.1\r\nHost: plugin\r\nContent-Length: 100000\r\n\r\n".encode()
    crowd = await open_many(address, 100)

    async def drip(connection: Connection) -> None:
        await connection.send(head)
        while True:
            await connection.send(b" ")
            await asyncio.sleep(0.2)

    async with asyncio.TaskGroup() as group:
        drips = [group.create_task(drip(connection)) for connection in crowd]
        try:
            yield
        finally:
            for task in drips:
                task.cancel()
    for connection in crowd:
        connection.close()


Rude = Callable[[str], AbstractAsyncContextManager[None]]
RUDE: list[Rude] = [idle, half_sent, dripping]


@pytest.mark.parametrize("rude", RUDE)
async def test_others_are_served(tcp_plugin: Plugin, postgres: Postgres, rude: Rude) -> None:
    async with Load([tcp_plugin.address], clients=8) as load, rude(tcp_plugin.address):
        await load.serves(TIMES)
        newcomer = await Connection.open(tcp_plugin.address)
        await newcomer.send(request("POST", "/v1/search", {"namespaces": ["workspace:1"]}))
        assert (await newcomer.answer()).status == 200
        newcomer.close()
    await assert_consistent(load.history, tcp_plugin.address, postgres)
    assert load.history.count("acknowledged") == len(load.history.calls)
    assert tcp_plugin.alarms == []


@pytest.mark.slow
@pytest.mark.parametrize("rude", RUDE)
async def test_others_are_served_at_the_same_speed(tcp_plugin: Plugin, rude: Rude) -> None:
    slowdowns: list[float] = []
    async with Load([tcp_plugin.address], clients=8) as load:
        await load.serves()
        while len(slowdowns) < ATTEMPTS and min(slowdowns, default=SAME_SPEED) >= SAME_SPEED:
            before = await typical_latency(load)
            async with rude(tcp_plugin.address):
                slowdowns.append(await typical_latency(load) / before)
    assert min(slowdowns) < SAME_SPEED, slowdowns


async def test_a_body_that_never_ends_is_refused_and_not_kept(tcp_plugin: Plugin) -> None:
    connection = await Connection.open(tcp_plugin.address)
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    before = tcp_plugin.memory

    async def pour() -> None:
        head = f"POST {WRITE} HTTP/1.1\r\nHost: plugin\r\nTransfer-Encoding: chunked\r\n\r\n"
        await connection.send(head.encode())
        for _ in range(5000):
            await connection.send(chunk)

    pouring = asyncio.create_task(pour())
    try:
        reply = await asyncio.wait_for(connection.answer(), 60)
        assert (reply.status, reply.code) == (413, "bad_request")
        with suppress(ConnectionError):
            await asyncio.wait_for(pouring, 60)
        assert tcp_plugin.memory - before < 32 * 2**20
        assert tcp_plugin.alarms == []
    finally:
        pouring.cancel()
        connection.close()


async def typical_latency(load: Load) -> float:
    """The median over the calls of the next seconds."""
    start = perf_counter()
    await asyncio.sleep(LONG_SECONDS)
    await load.serves(1)
    return median(c.end - c.start for c in load.history.calls if c.start >= start)
