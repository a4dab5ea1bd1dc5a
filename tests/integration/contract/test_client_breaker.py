"""After three failures in a row the plugin gets no requests for a minute, then one probe."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from contract import (
    BadRequest,
    Breaker,
    BreakerOpen,
    ContractViolation,
    MemoryClient,
    NotFound,
    SearchRequest,
    Timeout,
    Unavailable,
)
from tests.integration.contract.stub import Reply, Stub, failure, serving
from tests.waiting import pass_time

pytestmark = pytest.mark.anyio

SEARCH = SearchRequest(namespaces=["team:1"])
FOUND = Reply(body={"memories": []})


class Clock:
    """A clock that the test controls."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(clock=clock)


@pytest.fixture
async def client(stub: Stub, breaker: Breaker) -> AsyncIterator[MemoryClient]:
    async with MemoryClient(stub.url, timeout=60, attempts=1, breaker=breaker) as client:
        yield client


def state(breaker: Breaker) -> str:
    return breaker.state


async def fail(client: MemoryClient, times: int) -> None:
    for _ in range(times):
        with pytest.raises(Unavailable) as error:
            await client.search(SEARCH)
        assert not isinstance(error.value, BreakerOpen)


async def test_three_failures_open_it_and_calls_fail_at_once(
    client: MemoryClient, stub: Stub, breaker: Breaker
) -> None:
    stub.answer("POST", "/v1/search", failure(500))
    await fail(client, 3)
    assert state(breaker) == "open"
    with pytest.raises(BreakerOpen) as error:
        await client.search(SEARCH)
    assert error.value.retry_after == 60
    for call in (client.health(), client.supports("fts")):
        with pytest.raises(BreakerOpen):
            await call
    assert len(stub.requests) == 3


async def test_two_failures_do_not(client: MemoryClient, stub: Stub, breaker: Breaker) -> None:
    stub.answer("POST", "/v1/search", failure(500))
    await fail(client, 2)
    assert state(breaker) == "closed"


@pytest.mark.parametrize("trouble", [Reply(hang_up=True), Reply(503), Reply(status=502)])
async def test_every_kind_of_failure_counts(
    client: MemoryClient, stub: Stub, breaker: Breaker, trouble: Reply
) -> None:
    stub.answer("POST", "/v1/search", trouble)
    await fail(client, 3)
    assert state(breaker) == "open"


async def test_timeouts_count(client: MemoryClient, stub: Stub, breaker: Breaker) -> None:
    stub.answer("POST", "/v1/search", Reply(never=True))
    for number in range(3):
        call = asyncio.create_task(client.search(SEARCH))
        await stub.wait_for(number + 1)
        pass_time(60)
        with pytest.raises(Timeout):
            await call
    assert state(breaker) == "open"


async def test_a_refused_connection_counts(breaker: Breaker) -> None:
    async with serving() as gone:
        pass
    async with MemoryClient(gone.url, timeout=60, attempts=1, breaker=breaker) as client:
        await fail(client, 3)
    assert state(breaker) == "open"


async def test_a_call_counts_once_however_often_it_was_retried(
    stub: Stub, breaker: Breaker
) -> None:
    stub.answer("POST", "/v1/search", failure(500))
    async with MemoryClient(stub.url, timeout=60, attempts=3, breaker=breaker) as client:
        await fail(client, 2)
        assert state(breaker) == "closed"
        await fail(client, 1)
    assert state(breaker) == "open"


@pytest.mark.parametrize(
    "answer", [FOUND, failure(400, "bad_request"), failure(404, "not_found"), failure(429)]
)
async def test_any_other_answer_ends_the_count(
    client: MemoryClient, stub: Stub, breaker: Breaker, answer: Reply
) -> None:
    for _ in range(2):
        stub.answer("POST", "/v1/search", failure(500), failure(500), answer)
        await fail(client, 2)
        with suppress(BadRequest, NotFound, Unavailable):
            await client.search(SEARCH)
    assert state(breaker) == "closed"


async def test_an_answer_that_violates_the_contract_ends_the_count(
    client: MemoryClient, stub: Stub, breaker: Breaker
) -> None:
    stub.answer("POST", "/v1/search", failure(500), failure(500), Reply(body=b"?"), failure(500))
    await fail(client, 2)
    with pytest.raises(ContractViolation):
        await client.search(SEARCH)
    await fail(client, 2)
    assert state(breaker) == "closed"


async def test_after_a_minute_one_probe_closes_it(
    client: MemoryClient, stub: Stub, breaker: Breaker, clock: Clock
) -> None:
    stub.answer("POST", "/v1/search", failure(500))
    await fail(client, 3)
    clock.now += 59.9
    with pytest.raises(BreakerOpen):
        await client.search(SEARCH)
    clock.now += 0.1
    assert state(breaker) == "half-open"
    stub.answer("POST", "/v1/search", FOUND)
    await client.search(SEARCH)
    assert state(breaker) == "closed"
    stub.answer("POST", "/v1/search", failure(500))
    await fail(client, 2)
    assert state(breaker) == "closed"


async def test_a_probe_that_fails_opens_it_for_another_minute(
    client: MemoryClient, stub: Stub, breaker: Breaker, clock: Clock
) -> None:
    stub.answer("POST", "/v1/search", failure(500))
    await fail(client, 3)
    clock.now += 60
    await fail(client, 1)
    assert state(breaker) == "open"
    clock.now += 59
    with pytest.raises(BreakerOpen):
        await client.search(SEARCH)
    assert len(stub.asked("POST", "/v1/search")) == 4


async def test_a_probe_is_one_request(stub: Stub, breaker: Breaker, clock: Clock) -> None:
    stub.answer("POST", "/v1/search", failure(500))
    async with MemoryClient(stub.url, timeout=60, attempts=3, breaker=breaker) as client:
        await fail(client, 3)
        clock.now += 60
        await fail(client, 1)
    assert len(stub.asked("POST", "/v1/search")) == 3 * 3 + 1


async def test_while_the_probe_is_in_flight_other_calls_fail_at_once(
    client: MemoryClient, stub: Stub, clock: Clock
) -> None:
    stub.answer("POST", "/v1/search", failure(500))
    await fail(client, 3)
    clock.now += 60
    stub.answer("POST", "/v1/search", Reply(never=True))
    probe = asyncio.create_task(client.search(SEARCH))
    await stub.wait_for(4)
    with pytest.raises(BreakerOpen):
        await client.search(SEARCH)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    # A cancelled probe proves nothing: the next call is the probe.
    stub.answer("POST", "/v1/search", FOUND)
    await client.search(SEARCH)


async def test_an_earlier_failure_does_not_prolong_the_pause(
    client: MemoryClient, stub: Stub, breaker: Breaker, clock: Clock
) -> None:
    stub.answer("POST", "/v1/search", Reply(never=True))
    late = asyncio.create_task(client.search(SEARCH))
    await stub.wait_for(1)
    stub.answer("POST", "/v1/search", failure(500))
    await fail(client, 3)
    clock.now += 30
    await stub.drop()
    with pytest.raises(Unavailable):
        await late
    clock.now += 30
    assert state(breaker) == "half-open"


async def test_clients_can_share_one(stub: Stub, breaker: Breaker) -> None:
    stub.answer("POST", "/v1/search", failure(500))
    async with (
        MemoryClient(stub.url, timeout=60, attempts=1, breaker=breaker) as one,
        MemoryClient(stub.url, timeout=60, attempts=1, breaker=breaker) as other,
    ):
        await fail(one, 3)
        with pytest.raises(BreakerOpen):
            await other.search(SEARCH)
