"""The client learns what the plugin supports and reduces its requests to that."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from contract import (
    BadRequest,
    BatchWrite,
    CountRequest,
    LeftOut,
    ListRequest,
    MemoryClient,
    MemoryWrite,
    NamespacePatch,
    NamespaceUpsert,
    NotSupported,
    SearchRequest,
    Timeout,
    Unavailable,
)
from tests.integration.contract.stub import Reply, Stub, failure, health
from tests.waiting import pass_time

pytestmark = pytest.mark.anyio

LATER = datetime(2999, 1, 1, tzinfo=UTC)
EVERYTHING: dict[str, Any] = {
    "content": "hello",
    "kind": "fact",
    "source": "agent",
    "expires_at": LATER,
    "propagation": {"hops": 1},
    "pin": True,
    "embedding": [1.0],
}
WRITTEN = {"id": "018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11", "namespace": "team:1"}
NAMESPACE = {"name": "team:1", "kind": "team", "created_at": "2026-01-31T12:00:00Z"}
HYBRID = SearchRequest(namespaces=["team:1"], query="hello", embedding=[1.0])


@pytest.fixture(autouse=True)
def answers(stub: Stub) -> None:
    stub.answer("POST", "/v1/search", Reply(body={"memories": []}))
    stub.answer("POST", "/v1/namespaces/team:1/memories", Reply(201, WRITTEN))
    stub.answer("POST", "/v1/memories/batch", Reply(body={"results": [WRITTEN, WRITTEN]}))
    stub.answer("PUT", "/v1/namespaces/team:1", Reply(body=NAMESPACE))
    stub.answer("PATCH", "/v1/namespaces/team:1", Reply(body=NAMESPACE))


@pytest.fixture
def told() -> list[LeftOut]:
    return []


@pytest.fixture
async def client(stub: Stub, told: list[LeftOut]) -> Any:
    async with MemoryClient(stub.url, timeout=60, on_left_out=told.append) as client:
        yield client


@pytest.mark.parametrize(
    ("capabilities", "sent", "lost"),
    [
        (["fts", "embedding"], {"query", "embedding"}, []),
        (["fts"], {"query"}, [LeftOut("search", ("embedding",))]),
        (["embedding"], {"embedding"}, [LeftOut("search", ("query",))]),
        ([], set(), [LeftOut("search", ("embedding", "query"))]),
    ],
)
async def test_a_hybrid_search_works_on_a_plugin_with_one_of_the_two(
    client: MemoryClient,
    stub: Stub,
    told: list[LeftOut],
    capabilities: list[str],
    sent: set[str],
    lost: list[LeftOut],
) -> None:
    stub.answer("GET", "/v1/health", health(*capabilities))
    assert (await client.search(HYBRID)).memories == []
    assert stub.requests[-1].json.keys() == {"namespaces"} | sent
    assert told == lost


@pytest.mark.parametrize("missing", ["embedding", "ttl", "pin", "propagation"])
async def test_a_field_of_a_missing_capability_is_left_out(
    client: MemoryClient, stub: Stub, told: list[LeftOut], missing: str
) -> None:
    stub.answer(
        "GET", "/v1/health", health(*{"embedding", "ttl", "pin", "propagation"} - {missing})
    )
    await client.write("team:1", MemoryWrite(**EVERYTHING))
    field = {"ttl": "expires_at"}.get(missing, missing)
    assert stub.requests[-1].json.keys() == EVERYTHING.keys() - {field}
    assert told == [LeftOut("write", (field,))]


async def test_a_batch_is_reduced_write_by_write_and_reported_once(
    client: MemoryClient, stub: Stub, told: list[LeftOut]
) -> None:
    stub.answer("GET", "/v1/health", health("fts"))
    full = BatchWrite(namespace="team:1", **EVERYTHING)
    plain = BatchWrite(
        namespace="team:1", content="x", kind="fact", source="user", created_at=LATER
    )
    await client.batch([full, plain])
    first, second = stub.requests[-1].json["writes"]
    assert first.keys() == {"namespace", "content", "kind", "source"}
    assert second.keys() == {"namespace", "content", "kind", "source", "created_at"}
    assert told == [LeftOut("batch", ("embedding", "expires_at", "pin", "propagation"))]


async def test_the_ttl_of_a_namespace_is_left_out(
    client: MemoryClient, stub: Stub, told: list[LeftOut]
) -> None:
    stub.answer("GET", "/v1/health", health("fts"))
    await client.put_namespace("team:1", NamespaceUpsert(kind="team", expires_at=LATER))
    assert stub.requests[-1].json == {"kind": "team"}
    await client.patch_namespace("team:1", NamespacePatch(expires_at=LATER, metadata={}))
    assert stub.requests[-1].json == {"metadata": {}}
    assert [it.operation for it in told] == ["put_namespace", "patch_namespace"]


async def test_a_patch_that_would_become_empty_is_refused(client: MemoryClient, stub: Stub) -> None:
    stub.answer("GET", "/v1/health", health("fts"))
    with pytest.raises(BadRequest, match="ttl"):
        await client.patch_namespace("team:1", NamespacePatch(expires_at=LATER))
    assert stub.asked("PATCH", "/v1/namespaces/team:1") == []


async def test_fields_without_effect_are_left_out_silently(
    client: MemoryClient, stub: Stub, told: list[LeftOut]
) -> None:
    stub.answer("GET", "/v1/health", health())
    write = MemoryWrite(content="x", kind="fact", source="user", pin=False, embedding=None)
    await client.write("team:1", write)
    assert stub.requests[-1].json.keys() == {"content", "kind", "source"}
    assert told == []


async def test_health_is_asked_once_for_many_calls(client: MemoryClient, stub: Stub) -> None:
    await asyncio.gather(*(client.search(HYBRID) for _ in range(10)))
    for _ in range(3):
        await client.search(HYBRID)
        assert await client.supports("embedding")
    assert len(stub.asked("GET", "/v1/health")) == 1


async def test_health_is_not_asked_for_what_every_plugin_understands(
    client: MemoryClient, stub: Stub
) -> None:
    await client.write("team:1", MemoryWrite(content="x", kind="fact", source="user"))
    await client.search(SearchRequest(namespaces=["team:1"], kinds=["fact"]))
    assert stub.asked("GET", "/v1/health") == []


async def test_a_capability_that_appears_later_is_used(stub: Stub) -> None:
    stub.answer("GET", "/v1/health", health("fts"), health("fts", "embedding"))
    async with MemoryClient(stub.url, timeout=60, refresh=0) as client:
        assert not await client.supports("embedding")
        for _ in range(200):
            await client.search(HYBRID)
            if "embedding" in stub.asked("POST", "/v1/search")[-1].json:
                break
        assert await client.supports("embedding")
    assert "embedding" not in stub.asked("POST", "/v1/search")[0].json
    assert "embedding" in stub.asked("POST", "/v1/search")[-1].json


async def test_a_health_call_updates_the_client_at_once(client: MemoryClient, stub: Stub) -> None:
    stub.answer("GET", "/v1/health", health("fts"), health("fts", "embedding"))
    assert not await client.supports("embedding")
    await client.health()
    assert await client.supports("embedding")


async def test_the_refresh_does_not_hold_up_the_call(stub: Stub) -> None:
    stub.answer("GET", "/v1/health", health("fts"), Reply(never=True))
    async with MemoryClient(stub.url, timeout=60, refresh=0) as client:
        assert await client.supports("fts")
        await client.search(HYBRID)
        await client.search(HYBRID)
    assert "embedding" not in stub.asked("POST", "/v1/search")[-1].json


async def test_a_failed_refresh_leaves_what_is_known(stub: Stub) -> None:
    stub.answer("GET", "/v1/health", health("fts"), failure(500))
    async with MemoryClient(stub.url, timeout=60, refresh=0) as client:
        assert await client.supports("fts")
        while len(stub.asked("GET", "/v1/health")) < 3:
            assert await client.supports("fts")
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("trouble", [failure(500), Reply(404), Reply(body=b"?")])
async def test_a_plugin_with_unknown_capabilities_is_sent_everything(
    client: MemoryClient, stub: Stub, told: list[LeftOut], trouble: Reply
) -> None:
    stub.answer("GET", "/v1/health", trouble)
    await client.search(HYBRID)
    assert stub.requests[-1].json.keys() == {"namespaces", "query", "embedding"}
    assert told == []


async def test_a_plugin_that_is_slow_to_report_is_sent_everything(
    client: MemoryClient, stub: Stub
) -> None:
    stub.answer("GET", "/v1/health", Reply(never=True))
    call = asyncio.create_task(client.search(HYBRID))
    await stub.wait_for(1)
    pass_time(30)  # half of the call's time
    await call
    assert "embedding" in stub.requests[-1].json


async def test_a_failed_health_request_does_not_open_the_breaker(
    client: MemoryClient, stub: Stub
) -> None:
    stub.answer("GET", "/v1/health", failure(500))
    for _ in range(5):
        await client.search(HYBRID)


async def test_supports_raises_if_the_plugin_does_not_answer(
    client: MemoryClient, stub: Stub
) -> None:
    stub.answer("GET", "/v1/health", failure(503, message="store is down"))
    with pytest.raises(Unavailable, match="store is down"):
        await client.supports("embedding")
    stub.answer("GET", "/v1/health", Reply(never=True))
    with pytest.raises(Timeout):
        await client.supports("embedding", timeout=0.05)


async def test_supports_knows_extensions_and_refuses_nonsense(
    client: MemoryClient, stub: Stub
) -> None:
    stub.answer("GET", "/v1/health", health("fts", extensions=["list"]))
    assert await client.supports("list")
    assert not await client.supports("batch")
    with pytest.raises(ValueError, match="telepathy"):
        await client.supports("telepathy")  # type: ignore[arg-type]


NEEDS: dict[str, tuple[str, Callable[[MemoryClient], Awaitable[Any]]]] = {
    "where in a search": (
        "filter",
        lambda it: it.search(SearchRequest(namespaces=["team:1"], where={"a": 1})),
    ),
    "a time in a search": (
        "filter",
        lambda it: it.search(SearchRequest(namespaces=["team:1"], created_before=LATER)),
    ),
    "where in a listing": (
        "filter",
        lambda it: it.list_page(ListRequest(namespaces=["team:1"], where={"a": 1})),
    ),
    "an order": (
        "browse",
        lambda it: it.list_page(ListRequest(namespaces=["team:1"], order="newest")),
    ),
    "kinds in a listing": (
        "browse",
        lambda it: it.list_page(ListRequest(namespaces=["team:1"], kinds=["fact"])),
    ),
    "count": ("browse", lambda it: it.count(CountRequest(namespaces=["team:1"]))),
    "a filtered count": (
        "filter",
        lambda it: it.count(CountRequest(namespaces=["team:1"], created_after=LATER)),
    ),
    "get": ("get", lambda it: it.get(WRITTEN["id"], namespace="team:1")),
}


@pytest.mark.parametrize("name", NEEDS)
async def test_what_an_extension_adds_is_not_sent_to_a_plugin_without_it(
    client: MemoryClient, stub: Stub, name: str
) -> None:
    missing, call = NEEDS[name]
    others = sorted({"batch", "list", "filter", "browse", "get"} - {missing})
    stub.answer("GET", "/v1/health", health("fts", extensions=others))
    with pytest.raises(NotSupported, match=f"does not list the extension {missing}"):
        await call(client)
    assert [it.path for it in stub.requests] == ["/v1/health"]


@pytest.mark.parametrize("name", NEEDS)
async def test_a_plugin_with_unknown_extensions_is_not_sent_any(
    client: MemoryClient, stub: Stub, name: str
) -> None:
    stub.answer("GET", "/v1/health", failure(503, message="store is down"))
    with pytest.raises(Unavailable, match="store is down"):
        await NEEDS[name][1](client)
    assert {it.path for it in stub.requests} == {"/v1/health"}


async def test_requests_without_extension_fields_need_no_extension(
    client: MemoryClient, stub: Stub
) -> None:
    stub.answer("GET", "/v1/health", health("fts"))
    stub.answer("POST", "/v1/memories/list", Reply(body={"memories": []}))
    await client.list_page(ListRequest(namespaces=["team:1"], order="id", kinds=[], where=None))
    await client.search(SearchRequest(namespaces=["team:1"], kinds=["fact"], created_after=None))
    assert stub.asked("GET", "/v1/health") == []
