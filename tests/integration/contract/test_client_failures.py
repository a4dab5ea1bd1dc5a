"""Every failure becomes one of our exceptions and says what went wrong."""

import asyncio
import gc
import inspect
import weakref
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from contract import (
    BadRequest,
    Breaker,
    BreakerOpen,
    ContractViolation,
    Forbidden,
    MemoryClient,
    MemoryPluginError,
    MemoryWrite,
    NotFound,
    SearchRequest,
    Timeout,
    Unavailable,
)
from tests.integration.contract.stub import HEALTH, Reply, Stub, failure, serving

pytestmark = pytest.mark.anyio

SEARCH = SearchRequest(namespaces=["team:1"])
WRITE = MemoryWrite(content="hello", kind="fact", source="agent")


async def search(stub: Stub, reply: Reply, **options: Any) -> Any:
    """One search without retries that gets this reply."""
    stub.answer("POST", "/v1/search", reply)
    async with MemoryClient(stub.url, attempts=1, **{"timeout": 60} | options) as client:
        return await client.search(SEARCH)


async def test_a_missing_answer_is_a_timeout(either_stub: Stub) -> None:
    with pytest.raises(Timeout):
        await search(either_stub, Reply(never=True), timeout=0.05)


async def test_the_caller_can_give_one_call_another_deadline(
    client: MemoryClient, stub: Stub
) -> None:
    stub.answer("POST", "/v1/search", Reply(never=True))
    with pytest.raises(Timeout):
        await client.search(SEARCH, timeout=0.05)


async def test_no_time_left_is_a_timeout_that_does_not_count_against_the_plugin(
    client: MemoryClient, stub: Stub
) -> None:
    for _ in range(5):
        with pytest.raises(Timeout, match="no time was left"):
            await client.health(timeout=-1)
    assert stub.requests == []
    assert (await client.health()).status == "ok"


async def test_many_timeouts_leave_the_client_usable(stub: Stub) -> None:
    stub.answer("POST", "/v1/search", Reply(never=True))
    never_opens = Breaker(failures=1000)
    async with MemoryClient(stub.url, timeout=60, breaker=never_opens) as client:
        # More than there are connections: some time out while they wait for one.
        calls = [client.search(SEARCH, timeout=0.5) for _ in range(130)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(outcome, Timeout) for outcome in outcomes)
        stub.answer("POST", "/v1/search", Reply(body={"memories": []}))
        for _ in range(5):
            assert (await client.search(SEARCH)).memories == []


async def test_a_refused_connection_is_unavailable(tmp_path: Any) -> None:
    async with serving() as gone:
        pass
    for url in (gone.url, f"unix:{tmp_path}/none.sock"):
        async with MemoryClient(url, timeout=60) as client:
            with pytest.raises(Unavailable, match="cannot be reached"):
                await client.health()


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body={"memories": []}, cut=True),
        Reply(hang_up=True),
        Reply(body=b"", headers={"Content-Length": "nonsense"}),
    ],
    ids=["reset in the body", "hung up", "not HTTP"],
)
async def test_a_broken_connection_is_unavailable(either_stub: Stub, reply: Reply) -> None:
    with pytest.raises(Unavailable) as error:
        await search(either_stub, reply)
    assert not isinstance(error.value, Timeout | BreakerOpen)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, BadRequest),
        (401, Forbidden),
        (403, Forbidden),
        (404, NotFound),
        (405, BadRequest),
        (408, Unavailable),
        (409, BadRequest),
        (413, BadRequest),
        (422, BadRequest),
        (429, Unavailable),
        (500, Unavailable),
        (501, Unavailable),
        (502, Unavailable),
        (503, Unavailable),
        (302, ContractViolation),
    ],
)
async def test_a_status_becomes_its_exception(
    stub: Stub, status: int, expected: type[MemoryPluginError]
) -> None:
    body = {"code": "internal", "message": "because", "details": {"field": "query"}}
    with pytest.raises(MemoryPluginError, match="because") as error:
        await search(stub, Reply(status, body))
    assert type(error.value) is expected
    assert error.value.status == status


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>Bad Gateway</html>", b"\xff\xfe", b"[]", b'{"error": "no"}', {"code": "odd"}],
)
@pytest.mark.parametrize("status", [400, 404, 500, 503])
async def test_an_error_without_the_envelope_is_still_that_error(
    stub: Stub, status: int, body: Any
) -> None:
    kinds = {400: BadRequest, 404: NotFound, 500: Unavailable, 503: Unavailable}
    with pytest.raises(kinds[status], match=f"answered {status} without an Error envelope"):
        await search(stub, Reply(status, body))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"OK",
        b"null",
        {},
        {"memories": {}},
        {"memories": [{"id": "1"}]},
    ],
)
async def test_a_2xx_that_does_not_fit_breaks_the_contract(stub: Stub, body: Any) -> None:
    with pytest.raises(ContractViolation, match="the plugin's answer is not a SearchResponse"):
        await search(stub, Reply(body=body))


@pytest.mark.parametrize("declared", [True, False])
async def test_an_answer_that_is_too_large_is_not_read(stub: Stub, declared: bool) -> None:
    body = b'{"memories": [], "more": "' + b"x" * 5000 + b'"}'
    headers = {} if declared else {"Transfer-Encoding": "chunked"}
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    stub.answer("POST", "/v1/search", Reply(body=body if declared else chunked, headers=headers))
    async with MemoryClient(stub.url, timeout=60, max_answer=5000) as client:
        with pytest.raises(ContractViolation, match="larger than 5000 bytes"):
            await client.search(SEARCH)
    async with MemoryClient(stub.url, timeout=60, max_answer=len(body)) as client:
        assert (await client.search(SEARCH)).memories == []


async def test_an_error_that_is_too_large_is_not_read_either(stub: Stub) -> None:
    stub.answer("POST", "/v1/search", Reply(500, b"x" * 5000))
    async with MemoryClient(stub.url, timeout=60, attempts=1, max_answer=4999) as client:
        with pytest.raises(Unavailable, match="answered 500 without an Error envelope"):
            await client.search(SEARCH)


async def test_an_unknown_field_of_an_answer_may_contain_anything(stub: Stub) -> None:
    answer = await search(stub, Reply(body={"memories": [], "later": ["\ud800", {"a": 1}]}))
    assert answer.memories == []


async def test_an_encoding_that_lies_breaks_the_contract(stub: Stub) -> None:
    with pytest.raises(ContractViolation):
        await search(stub, Reply(body=b"not gzip", headers={"Content-Encoding": "gzip"}))


async def test_health_of_a_plugin_whose_store_is_down(client: MemoryClient, stub: Stub) -> None:
    degraded = HEALTH | {"status": "degraded", "code": "unavailable", "message": "store is down"}
    stub.answer("GET", "/v1/health", Reply(503, degraded, {"Retry-After": "60"}))
    with pytest.raises(Unavailable, match="store is down") as error:
        await client.health()
    assert error.value.status == 503
    assert error.value.retry_after == 60


async def test_details_of_an_error_are_kept(client: MemoryClient, stub: Stub) -> None:
    body = {"code": "bad_request", "message": "limit: no", "details": {"field": "limit"}}
    stub.answer("POST", "/v1/search", Reply(400, body))
    with pytest.raises(BadRequest) as error:
        await client.search(SEARCH)
    assert error.value.details == {"field": "limit"}


HTTPX_EXCEPTIONS = [
    member
    for _, member in inspect.getmembers(httpx, inspect.isclass)
    if issubclass(member, Exception)
]


def build(kind: type[Exception]) -> Exception:
    """An httpx exception as httpx itself would make it."""
    request = httpx.Request("POST", "http://plugin/v1/search", headers={"Authorization": "hush"})
    possible: list[Callable[[], Exception]] = [
        lambda: kind("reason"),
        lambda: kind("reason", request=request),  # type: ignore[call-arg]
        lambda: kind("reason", request=request, response=httpx.Response(500)),  # type: ignore[call-arg]
        lambda: kind(),
    ]
    for make in possible:
        try:
            return make()
        except TypeError:
            continue
    raise AssertionError(f"{kind.__name__} cannot be made")


class Raising(httpx.AsyncBaseTransport):
    """A transport on which every request ends with the same exception."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def handle_async_request(self, _: httpx.Request) -> httpx.Response:
        raise self.error


@pytest.mark.parametrize("kind", HTTPX_EXCEPTIONS, ids=lambda kind: kind.__name__)
async def test_every_httpx_exception_is_mapped(kind: type[Exception]) -> None:
    async with MemoryClient(attempts=1, transport=Raising(build(kind))) as client:
        with pytest.raises(MemoryPluginError) as error:
            await client.write("team:1", WRITE)
    if issubclass(kind, httpx.TimeoutException):
        expected: type[MemoryPluginError] = Timeout
    elif issubclass(kind, httpx.DecodingError | httpx.TooManyRedirects):
        expected = ContractViolation
    else:
        expected = Unavailable
    assert type(error.value) is expected
    assert error.value.__cause__ is None
    assert error.value.__context__ is None


def test_there_are_httpx_exceptions_to_map() -> None:
    assert {httpx.ConnectError, httpx.ReadTimeout, httpx.InvalidURL} <= set(HTTPX_EXCEPTIONS)


async def test_an_unmapped_exception_would_be_seen() -> None:
    async with MemoryClient(attempts=1, transport=Raising(ZeroDivisionError())) as client:
        with pytest.raises(ZeroDivisionError):
            await client.health()


@pytest.mark.parametrize(
    "reply",
    [failure(503), Reply(body=b"[]")],
    ids=["an error", "an answer that breaks the contract"],
)
async def test_a_failed_request_does_not_stay_in_memory(stub: Stub, reply: Reply) -> None:
    failed: weakref.ref[MemoryPluginError] | None = None
    gc.disable()  # it would find what keeps itself, but late
    try:
        try:
            await search(stub, reply)
        except MemoryPluginError as error:
            failed = weakref.ref(error)
        assert failed is not None
        assert failed() is None
    finally:
        gc.enable()
