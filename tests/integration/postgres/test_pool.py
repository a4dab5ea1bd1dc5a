"""The pool: bounded, quick to refuse, and never hands out a connection in an unknown state."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import asyncpg
import pytest

from postgres.pool import Pool

pytestmark = pytest.mark.anyio

Connect = Callable[[], Coroutine[Any, Any, asyncpg.Connection]]


@pytest.fixture
def connect(database: str) -> Connect:
    async def connect() -> asyncpg.Connection:
        connection: asyncpg.Connection = await asyncpg.connect(database)
        return connection

    return connect


@pytest.fixture
async def pool(connect: Connect) -> AsyncIterator[Pool]:
    pool = Pool(connect, 2)
    yield pool
    await pool.close()


async def test_connections_are_made_on_demand_and_used_again(pool: Pool) -> None:
    assert (pool.size, pool.used) == (0, 0)
    first = await pool.acquire(60)
    second = await pool.acquire(60)
    assert first is not second
    assert (pool.size, pool.used) == (2, 2)
    pool.release(first)
    assert await pool.acquire(60) is first
    pool.release(second)
    assert (pool.size, pool.used) == (2, 1)


async def test_when_all_are_in_use_the_next_waits_its_turn_or_gives_up(pool: Pool) -> None:
    first = await pool.acquire(60)
    await pool.acquire(60)
    with pytest.raises(TimeoutError):
        await pool.acquire(0.05)
    turns = [asyncio.create_task(pool.acquire(60)) for _ in range(2)]
    await asyncio.sleep(0)
    pool.release(first)
    assert await turns[0] is first
    assert not turns[1].done()
    pool.release(first)
    assert await turns[1] is first


async def test_a_new_connection_whose_caller_gave_up_goes_to_the_next(connect: Connect) -> None:
    release = asyncio.Event()

    async def slow() -> asyncpg.Connection:
        await release.wait()
        return await connect()

    pool = Pool(slow, 1)
    with pytest.raises(TimeoutError):
        await pool.acquire(0.05)
    release.set()
    assert await (await pool.acquire(60)).fetchval("SELECT 1") == 1
    assert pool.size == 1
    await pool.close()


async def test_broken_and_unfinished_connections_are_replaced(pool: Pool) -> None:
    closed = await pool.acquire(60)
    closed.terminate()
    pool.release(closed)
    unfinished = await pool.acquire(60)
    assert unfinished is not closed
    await unfinished.execute("BEGIN")
    pool.release(unfinished)
    assert unfinished.is_closed()
    idle = await pool.acquire(60)
    pool.release(idle)
    idle.terminate()
    assert await (await pool.acquire(60)).fetchval("SELECT 1") == 1


async def test_a_broken_connection_makes_room_for_those_that_wait(pool: Pool) -> None:
    used = [await pool.acquire(60) for _ in range(2)]
    turn = asyncio.create_task(pool.acquire(60))
    await asyncio.sleep(0)
    used[0].terminate()
    pool.release(used[0])
    assert await (await turn).fetchval("SELECT 1") == 1


async def test_expired_connections_are_closed_when_released(pool: Pool) -> None:
    used, idle = await pool.acquire(60), await pool.acquire(60)
    pool.release(idle)
    pool.expire()
    assert idle.is_closed()
    assert not used.is_closed()
    pool.release(used)
    assert used.is_closed()
    assert await (await pool.acquire(60)).fetchval("SELECT 1") == 1


async def test_all_waiting_callers_fail_if_no_connection_can_be_made() -> None:
    async def fails() -> asyncpg.Connection:
        await asyncio.sleep(0.01)
        raise ConnectionRefusedError

    pool = Pool(fails, 2)
    told = await asyncio.gather(*(pool.acquire(60) for _ in range(5)), return_exceptions=True)
    assert [type(error) for error in told] == [ConnectionRefusedError] * 5
    assert pool.size == 0


async def test_who_waits_gets_a_connection_that_is_released_where_no_more_can_be_made(
    connect: Connect,
) -> None:
    attempts = 0

    async def connect_once() -> asyncpg.Connection:
        nonlocal attempts
        attempts += 1
        if attempts > 1:
            raise asyncpg.TooManyConnectionsError
        return await connect()

    pool = Pool(connect_once, 3)
    only = await pool.acquire(60)
    turns = [asyncio.create_task(pool.acquire(60)) for _ in range(5)]
    await asyncio.sleep(0.05)
    turns += [asyncio.create_task(pool.acquire(60)) for _ in range(5)]
    await asyncio.sleep(0.05)
    # One attempt for each connection that the pool may have, and not one for each request.
    assert attempts == 3
    for turn in turns:
        pool.release(only)
        assert await turn is only
    pool.release(only)
    await pool.close()


async def test_connections_that_are_idle_for_long_are_closed(connect: Connect) -> None:
    pool = Pool(connect, 2, idle_seconds=0.2)
    first, second = await pool.acquire(60), await pool.acquire(60)
    ended = asyncio.Event()
    first.add_termination_listener(lambda _: ended.set())
    pool.release(first)
    await asyncio.wait_for(ended.wait(), 60)
    assert (pool.size, pool.used) == (1, 1)
    assert not second.is_closed(), "it is in use"
    pool.release(second)
    await pool.close()


async def test_expiring_idle_connections_keeps_those_in_use(pool: Pool) -> None:
    first, second = await pool.acquire(60), await pool.acquire(60)
    pool.release(first)
    pool.expire_idle()
    assert first.is_closed()
    assert not second.is_closed()
    assert pool.size == 1
    pool.release(second)
