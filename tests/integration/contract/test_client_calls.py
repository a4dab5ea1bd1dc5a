"""Each method sends what the contract says and reads the answer, over TCP and a unix socket."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from contract import (
    BadRequest,
    BatchFailure,
    BatchWrite,
    ContractViolation,
    CountRequest,
    ListRequest,
    Memory,
    MemoryClient,
    MemoryWrite,
    MemoryWriteResponse,
    NamespacePatch,
    NamespaceUpsert,
    SearchRequest,
)
from tests.integration.contract.stub import HEALTH, Reply, Stub

pytestmark = pytest.mark.anyio

ID = "018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11"
OTHER_ID = "018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e12"
WRITES = "/v1/namespaces/team:1/memories"
MEMORY = {
    "id": ID,
    "namespace": "team:1",
    "content": "hello",
    "kind": "fact",
    "source": "agent",
    "created_at": "2026-01-31T12:00:00Z",
}
NAMESPACE = {"name": "team:1", "kind": "team", "created_at": "2026-01-31T12:00:00Z"}
LATER = datetime(2999, 1, 1, tzinfo=UTC)

CALLS: dict[str, tuple[str, str, Any, Reply, Callable[[MemoryClient], Awaitable[Any]]]] = {
    "health": ("GET", "/v1/health", None, Reply(body=HEALTH), lambda it: it.health()),
    "put_namespace": (
        "PUT",
        "/v1/namespaces/team:1",
        {"kind": "team", "expires_at": "2999-01-01T00:00:00Z"},
        Reply(body=NAMESPACE),
        lambda it: it.put_namespace("team:1", NamespaceUpsert(kind="team", expires_at=LATER)),
    ),
    "patch_namespace": (
        "PATCH",
        "/v1/namespaces/team:1",
        {"expires_at": None},
        Reply(body=NAMESPACE | {"expires_at": None}),
        lambda it: it.patch_namespace("team:1", NamespacePatch(expires_at=None)),
    ),
    "delete_namespace": (
        "DELETE",
        "/v1/namespaces/team:1",
        None,
        Reply(204),
        lambda it: it.delete_namespace("team:1"),
    ),
    "write": (
        "POST",
        "/v1/namespaces/team:1/memories",
        {"content": "hello", "kind": "fact", "source": "agent", "pin": True, "embedding": [1, 2]},
        Reply(201, {"id": ID, "namespace": "team:1"}),
        lambda it: it.write(
            "team:1",
            MemoryWrite(
                content="hello", kind="fact", source="agent", pin=True, embedding=[1.0, 2.0]
            ),
        ),
    ),
    "search": (
        "POST",
        "/v1/search",
        {"namespaces": ["team:1"], "query": "hello", "limit": 3},
        Reply(body={"memories": [MEMORY]}),
        lambda it: it.search(SearchRequest(namespaces=["team:1"], query="hello", limit=3)),
    ),
    "forget": (
        "DELETE",
        f"/v1/memories/{ID}",
        {"requested_by_namespace": "team:1"},
        Reply(204),
        lambda it: it.forget(ID, requested_by_namespace="team:1"),
    ),
    "batch": (
        "POST",
        "/v1/memories/batch",
        {"writes": [{"namespace": "team:1", "content": "x", "kind": "fact", "source": "user"}]},
        Reply(body={"results": [{"id": ID, "namespace": "team:1"}]}),
        lambda it: it.batch(
            [BatchWrite(namespace="team:1", content="x", kind="fact", source="user")]
        ),
    ),
    "list_page": (
        "POST",
        "/v1/memories/list",
        {"namespaces": ["team:1"]},
        Reply(body={"memories": [MEMORY], "next_cursor": "next"}),
        lambda it: it.list_page(ListRequest(namespaces=["team:1"])),
    ),
    "get": (
        "GET",
        f"/v1/memories/{ID}?namespace=team:1",
        None,
        Reply(body=MEMORY),
        lambda it: it.get(ID, namespace="team:1"),
    ),
    "count": (
        "POST",
        "/v1/memories/count",
        {"namespaces": ["team:1"], "kinds": ["fact"], "group_by": "thread", "where": {"a": 1}},
        Reply(
            body={"count": 3, "groups": [{"value": "x", "count": 2}, {"value": None, "count": 1}]}
        ),
        lambda it: it.count(
            CountRequest(namespaces=["team:1"], kinds=["fact"], group_by="thread", where={"a": 1})
        ),
    ),
    "filtered search": (
        "POST",
        "/v1/search",
        {
            "namespaces": ["team:1"],
            "where": {"thread": "x", "hops": 1, "draft": False},
            "created_after": "2999-01-01T00:00:00Z",
            "created_before": "2999-01-01T00:00:00Z",
        },
        Reply(body={"memories": []}),
        lambda it: it.search(
            SearchRequest(
                namespaces=["team:1"],
                where={"thread": "x", "hops": 1, "draft": False},
                created_after=LATER,
                created_before=LATER,
            )
        ),
    ),
    "newest page": (
        "POST",
        "/v1/memories/list",
        {"namespaces": ["team:1"], "order": "newest", "kinds": ["fact"], "where": {"a": True}},
        Reply(body={"memories": [MEMORY]}),
        lambda it: it.list_page(
            ListRequest(namespaces=["team:1"], order="newest", kinds=["fact"], where={"a": True})
        ),
    ),
}


@pytest.mark.parametrize("name", CALLS)
async def test_a_call_sends_and_reads_what_the_contract_says(name: str, either_stub: Stub) -> None:
    method, path, body, reply, call = CALLS[name]
    either_stub.answer(method, path, reply)
    async with MemoryClient(either_stub.url, timeout=60) as client:
        answer = await call(client)
    (request,) = either_stub.asked(method, path)
    if body is None:
        assert request.body == b""
    else:
        assert request.json == body
        assert request.headers["content-type"] == "application/json"
    if reply.status == 204:
        assert answer is None
    elif name == "batch":
        assert answer == [MemoryWriteResponse(id=UUID(ID), namespace="team:1")]
    else:
        assert answer == type(answer).model_validate_json(reply.payload)


async def test_a_batch_answers_each_write_in_order(client: MemoryClient, stub: Stub) -> None:
    refused = {"error": {"code": "not_found", "message": "no such namespace"}}
    stub.answer(
        "POST",
        "/v1/memories/batch",
        Reply(body={"results": [refused, {"id": ID, "namespace": "team:1"}]}),
    )
    write = BatchWrite(namespace="team:1", content="x", kind="fact", source="user")
    first, second = await client.batch([write, write])
    assert isinstance(first, BatchFailure)
    assert first.error.code == "not_found"
    assert isinstance(second, MemoryWriteResponse)


async def test_a_batch_with_too_few_answers_breaks_the_contract(
    client: MemoryClient, stub: Stub
) -> None:
    stub.answer("POST", "/v1/memories/batch", Reply(body={"results": []}))
    write = BatchWrite(namespace="team:1", content="x", kind="fact", source="user")
    with pytest.raises(ContractViolation, match="0 answers to 1 writes"):
        await client.batch([write])


async def test_a_batch_of_no_writes_is_refused_before_it_is_sent(
    client: MemoryClient, stub: Stub
) -> None:
    with pytest.raises(BadRequest, match="writes"):
        await client.batch([])
    assert stub.requests == []


async def test_listing_follows_the_cursor_to_the_last_page(
    client: MemoryClient, stub: Stub
) -> None:
    stub.answer(
        "POST",
        "/v1/memories/list",
        Reply(body={"memories": [MEMORY], "next_cursor": "two"}),
        Reply(body={"memories": [], "next_cursor": "three"}),
        Reply(body={"memories": [MEMORY | {"content": "last"}]}),
    )
    found = [memory async for memory in client.list_memories(["team:1"], page_size=1)]
    assert [memory.content for memory in found] == ["hello", "last"]
    assert [it.json.get("cursor") for it in stub.asked("POST", "/v1/memories/list")] == [
        None,
        "two",
        "three",
    ]


async def test_listing_digests(client: MemoryClient, stub: Stub) -> None:
    digest = {
        "id": ID,
        "namespace": "team:1",
        "content_sha256": hashlib.sha256(b"hello").hexdigest(),
    }
    stub.answer("POST", "/v1/memories/list", Reply(body={"memories": [digest]}))
    (found,) = [it async for it in client.list_memories(["team:1"], fields="digest")]
    assert found.content_sha256 == digest["content_sha256"]
    assert stub.requests[-1].json["fields"] == "digest"


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ({"memories": [MEMORY], "next_cursor": "same"}, "next_cursor"),
        ({"memories": [{"id": ID, "namespace": "team:1", "content_sha256": "0" * 64}]}, "full"),
        ({"memories": {}}, "memories"),
    ],
)
async def test_a_listing_that_would_not_end_or_fit_breaks_the_contract(
    client: MemoryClient, stub: Stub, page: Any, message: str
) -> None:
    stub.answer("POST", "/v1/memories/list", Reply(body=page))
    with pytest.raises(ContractViolation, match=message):
        await client.list_page(ListRequest(namespaces=["team:1"], cursor="same"))


async def test_listing_passes_order_kinds_and_filter_to_every_page(
    client: MemoryClient, stub: Stub
) -> None:
    stub.answer(
        "POST",
        "/v1/memories/list",
        Reply(body={"memories": [MEMORY], "next_cursor": "two"}),
        Reply(body={"memories": [MEMORY]}),
    )
    listing = client.list_memories(
        ["team:1"], order="newest", kinds=["fact"], where={"a": 1}, created_after=LATER
    )
    assert len([memory async for memory in listing]) == 2
    first, second = (it.json for it in stub.asked("POST", "/v1/memories/list"))
    assert first == {
        "namespaces": ["team:1"],
        "limit": 1000,
        "fields": "full",
        "order": "newest",
        "kinds": ["fact"],
        "where": {"a": 1},
        "created_after": "2999-01-01T00:00:00Z",
    }
    assert second == first | {"cursor": "two"}


async def test_a_plain_listing_sends_nothing_that_old_plugins_do_not_know(
    client: MemoryClient, stub: Stub
) -> None:
    stub.answer("POST", "/v1/memories/list", Reply(body={"memories": []}))
    assert [memory async for memory in client.list_memories(["team:1"])] == []
    assert stub.requests[-1].json == {"namespaces": ["team:1"], "limit": 1000, "fields": "full"}


@pytest.mark.parametrize("other", [{"id": OTHER_ID}, {"namespace": "team:2"}])
async def test_another_memory_than_the_one_asked_for_breaks_the_contract(
    client: MemoryClient, stub: Stub, other: dict[str, str]
) -> None:
    stub.answer("GET", f"/v1/memories/{ID}?namespace=team:1", Reply(body=MEMORY | other))
    with pytest.raises(ContractViolation, match="a different memory"):
        await client.get(ID, namespace="team:1")


async def test_null_is_sent_only_where_it_clears(client: MemoryClient, stub: Stub) -> None:
    stub.answer("POST", "/v1/search", Reply(body={"memories": []}))
    await client.search(SearchRequest(namespaces=["team:1"], query=None, kinds=None))
    assert stub.requests[-1].json == {"namespaces": ["team:1"]}
    stub.answer("POST", WRITES, Reply(201, {"id": ID, "namespace": "team:1"}))
    write = MemoryWrite(content="x", kind="fact", source="user", pin=None, propagation={"to": None})
    await client.write("team:1", write)
    assert stub.requests[-1].json == {
        "content": "x",
        "kind": "fact",
        "source": "user",
        "propagation": {"to": None},
    }


@pytest.mark.parametrize(
    ("call", "path", "field"),
    [
        (lambda it: it.search(SearchRequest(namespaces=["a:b"])), "/v1/search", "memories"),
        (lambda it: it.list_page(ListRequest(namespaces=["a:b"])), "/v1/memories/list", "memories"),
        (
            lambda it: it.count(CountRequest(namespaces=["a:b"], group_by="x")),
            "/v1/memories/count",
            "groups",
        ),
    ],
)
async def test_a_list_that_is_null_is_read_as_empty(
    client: MemoryClient,
    stub: Stub,
    call: Callable[[MemoryClient], Awaitable[Any]],
    path: str,
    field: str,
) -> None:
    stub.answer("POST", path, Reply(body={field: None, "count": 0}))
    assert getattr(await call(client), field) == []


async def test_health_with_null_lists_names_nothing(client: MemoryClient, stub: Stub) -> None:
    stub.answer(
        "GET", "/v1/health", Reply(body=HEALTH | {"capabilities": None, "extensions": None})
    )
    assert (await client.health()).capabilities == []
    assert not await client.supports("list")


async def test_unknown_names_are_ignored(client: MemoryClient, stub: Stub) -> None:
    stub.answer(
        "GET", "/v1/health", Reply(body=HEALTH | {"capabilities": ["dreams"], "extensions": ["x"]})
    )
    health = await client.health()
    assert health.capabilities == []
    assert health.extensions == []


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda it: it.delete_namespace("../health"), "name"),
        (lambda it: it.forget("1", requested_by_namespace="team:1"), "id"),
        (lambda it: it.forget(ID, requested_by_namespace="1"), "requested_by_namespace"),
        (lambda it: it.get("1", namespace="team:1"), "id"),
        (lambda it: it.get(ID, namespace="1"), "namespace"),
        (lambda it: anext(it.list_memories(["team:1"], where={})), "where"),
        (lambda it: anext(it.list_memories([])), "namespaces"),
        (lambda it: anext(it.list_memories(["team:1"], page_size=1001)), "limit"),
    ],
)
async def test_invalid_requests_are_refused_before_they_are_sent(
    client: MemoryClient, stub: Stub, call: Callable[[MemoryClient], Awaitable[Any]], field: str
) -> None:
    with pytest.raises(BadRequest, match=rf"^{field}"):
        await call(client)
    assert stub.requests == []


async def test_an_address_may_have_a_path(stub: Stub) -> None:
    stub.answer("GET", "/memory/v1/health", Reply(body=HEALTH))
    async with MemoryClient(f"{stub.url}/memory/", timeout=60) as client:
        assert (await client.health()).status == "ok"


async def test_calls_at_the_same_time_get_their_own_answers(either_stub: Stub) -> None:
    names = [f"team:{number}" for number in range(60)]
    for name in names:
        memory = MEMORY | {"namespace": name}
        either_stub.answer("PUT", f"/v1/namespaces/{name}", Reply(body=NAMESPACE | {"name": name}))
        either_stub.answer("POST", "/v1/search", Reply(body={"memories": [memory]}))
    async with MemoryClient(either_stub.url, timeout=60) as client:
        answers = await asyncio.gather(
            *(client.put_namespace(name, NamespaceUpsert(kind="team")) for name in names)
        )
        found = await asyncio.gather(
            *(client.search(SearchRequest(namespaces=[name], query="x")) for name in names)
        )
    assert [answer.name for answer in answers] == names
    assert all(isinstance(it.memories[0], Memory) for it in found)
    assert len(either_stub.asked("GET", "/v1/health")) == 1


async def test_a_proxy_in_the_environment_is_not_used(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with MemoryClient(stub.url, timeout=60) as client:
        assert (await client.health()).status == "ok"


async def test_a_search_in_bytes_is_sent_as_it_is(stub: Stub, client: MemoryClient) -> None:
    stub.answer("POST", "/v1/search", Reply(body={"memories": [MEMORY]}))
    body = b'{"namespaces": [ "team:1" ], "query":"tea","unknown":1}'
    assert b"hello" in await client.search_bytes(body)
    assert stub.requests[-1].body == body


async def test_a_batch_in_bytes_is_sent_as_it_is(stub: Stub, client: MemoryClient) -> None:
    result = {"id": ID, "namespace": "team:1"}
    stub.answer("POST", "/v1/memories/batch", Reply(body={"results": [result]}))
    body = b'{"writes": [ {"id":"x"} ]}'
    assert ID.encode() in await client.batch_bytes(body, secrets=["tea"])
    assert stub.requests[-1].body == body
