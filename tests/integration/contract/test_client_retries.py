"""A request is retried only if a retry cannot duplicate anything, and never past the deadline."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from contract import (
    BadRequest,
    BatchWrite,
    Forbidden,
    ListRequest,
    MemoryClient,
    MemoryWrite,
    NamespacePatch,
    NamespaceUpsert,
    NotFound,
    SearchRequest,
    Timeout,
    Unavailable,
)
from tests.integration.contract.stub import HEALTH, Reply, Stub, failure
from tests.waiting import pass_time

pytestmark = pytest.mark.anyio

ID = UUID("018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11")
NAMESPACE = Reply(body={"name": "team:1", "kind": "team", "created_at": "2026-01-31T12:00:00Z"})
WRITTEN = Reply(201, {"id": str(ID), "namespace": "team:1"})
WRITES = "/v1/namespaces/team:1/memories"
BATCH = "/v1/memories/batch"


def write(**fields: Any) -> MemoryWrite:
    return MemoryWrite(content="hello", kind="fact", source="agent", **fields)


def batch_write(**fields: Any) -> BatchWrite:
    return BatchWrite(namespace="team:1", content="hello", kind="fact", source="agent", **fields)


Call = Callable[[MemoryClient], Awaitable[Any]]
REPEATED: dict[str, tuple[str, str, Reply, Call]] = {
    "health": ("GET", "/v1/health", Reply(body=HEALTH), lambda it: it.health()),
    "search": (
        "POST",
        "/v1/search",
        Reply(body={"memories": []}),
        lambda it: it.search(SearchRequest(namespaces=["team:1"])),
    ),
    "list": (
        "POST",
        "/v1/memories/list",
        Reply(body={"memories": []}),
        lambda it: it.list_page(ListRequest(namespaces=["team:1"])),
    ),
    "put": (
        "PUT",
        "/v1/namespaces/team:1",
        NAMESPACE,
        lambda it: it.put_namespace("team:1", NamespaceUpsert(kind="team")),
    ),
    "delete namespace": (
        "DELETE",
        "/v1/namespaces/team:1",
        Reply(204),
        lambda it: it.delete_namespace("team:1"),
    ),
    "write with an id": ("POST", WRITES, WRITTEN, lambda it: it.write("team:1", write(id=ID))),
    "write with an id of the client": (
        "POST",
        WRITES,
        WRITTEN,
        lambda it: it.write("team:1", write(), supply_id=True),
    ),
    "batch with ids": (
        "POST",
        BATCH,
        Reply(body={"results": [WRITTEN.body]}),
        lambda it: it.batch([batch_write(id=ID)]),
    ),
}
ONCE: dict[str, tuple[str, str, Call]] = {
    "write without an id": ("POST", WRITES, lambda it: it.write("team:1", write())),
    "batch with a write without an id": (
        "POST",
        BATCH,
        lambda it: it.batch([batch_write(id=ID), batch_write()]),
    ),
    "patch": (
        "PATCH",
        "/v1/namespaces/team:1",
        lambda it: it.patch_namespace("team:1", NamespacePatch(metadata={})),
    ),
    "forget": (
        "DELETE",
        f"/v1/memories/{ID}",
        lambda it: it.forget(ID, requested_by_namespace="team:1"),
    ),
}
TROUBLES = {
    "503": failure(503),
    "500": Reply(500),
    "429": failure(429, Retry_After="0"),
    "hung up": Reply(hang_up=True),
    "cut": Reply(body={"memories": []}, cut=True),
}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("name", REPEATED)
async def test_requests_that_cannot_duplicate_are_retried(
    client: MemoryClient, stub: Stub, name: str, trouble: str
) -> None:
    method, path, reply, call = REPEATED[name]
    stub.answer(method, path, TROUBLES[trouble], TROUBLES[trouble], reply)
    await call(client)
    first, second, third = stub.asked(method, path)
    assert first.body == second.body == third.body


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("name", ONCE)
async def test_requests_that_could_duplicate_are_never_retried(
    client: MemoryClient, stub: Stub, name: str, trouble: str
) -> None:
    method, path, call = ONCE[name]
    stub.answer(method, path, TROUBLES[trouble])
    with pytest.raises(Unavailable):
        await call(client)
    assert len(stub.asked(method, path)) == 1


async def test_the_client_gives_up_after_its_attempts(stub: Stub) -> None:
    stub.answer("POST", "/v1/search", failure(503, message="still down"))
    async with MemoryClient(stub.url, timeout=60, attempts=4) as client:
        with pytest.raises(Unavailable, match="still down"):
            await client.search(SearchRequest(namespaces=["team:1"]))
    assert len(stub.asked("POST", "/v1/search")) == 4


@pytest.mark.parametrize("status", [400, 403, 404, 413])
async def test_a_refusal_is_not_retried(client: MemoryClient, stub: Stub, status: int) -> None:
    stub.answer("POST", "/v1/search", failure(status, "bad_request"))
    with pytest.raises((BadRequest, Forbidden, NotFound)):
        await client.search(SearchRequest(namespaces=["team:1"]))
    assert len(stub.asked("POST", "/v1/search")) == 1


async def test_a_supplied_id_is_the_same_in_every_retry_and_new_in_every_call(
    client: MemoryClient, stub: Stub
) -> None:
    stub.answer("POST", WRITES, failure(503), WRITTEN)
    await client.write("team:1", write(), supply_id=True)
    await client.write("team:1", write(), supply_id=True)
    first, repeat, other = (UUID(it.json["id"]) for it in stub.asked("POST", WRITES))
    assert first == repeat
    assert other != first


async def test_a_supplied_id_does_not_replace_the_callers(client: MemoryClient, stub: Stub) -> None:
    stub.answer("POST", WRITES, WRITTEN)
    await client.write("team:1", write(id=ID), supply_id=True)
    assert stub.asked("POST", WRITES)[0].json["id"] == str(ID)


async def test_a_namespace_that_is_gone_when_delete_is_retried_counts_as_deleted(
    client: MemoryClient, stub: Stub
) -> None:
    path = "/v1/namespaces/team:1"
    stub.answer("DELETE", path, Reply(hang_up=True), failure(404, "not_found"))
    await client.delete_namespace("team:1")
    assert len(stub.asked("DELETE", path)) == 2


async def test_a_namespace_that_was_never_there_is_not_found(
    client: MemoryClient, stub: Stub
) -> None:
    stub.answer("DELETE", "/v1/namespaces/team:1", failure(404, "not_found"))
    with pytest.raises(NotFound):
        await client.delete_namespace("team:1")


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_waited_for(client: MemoryClient, stub: Stub, status: int) -> None:
    search = Reply(body={"memories": []})
    stub.answer("POST", "/v1/search", failure(status, Retry_After="1"), search)
    before = asyncio.get_running_loop().time()
    await client.search(SearchRequest(namespaces=["team:1"]))
    assert asyncio.get_running_loop().time() - before >= 1


async def test_a_wait_longer_than_the_deadline_is_not_started(
    client: MemoryClient, stub: Stub
) -> None:
    stub.answer("POST", "/v1/search", failure(503, Retry_After="3600"))
    with pytest.raises(Unavailable) as error:
        await client.search(SearchRequest(namespaces=["team:1"]))
    assert error.value.retry_after == 3600
    assert not isinstance(error.value, Timeout)
    assert len(stub.asked("POST", "/v1/search")) == 1


async def test_retries_share_the_callers_deadline(client: MemoryClient, stub: Stub) -> None:
    stub.answer("POST", "/v1/search", failure(503), Reply(never=True))
    call = asyncio.create_task(client.search(SearchRequest(namespaces=["team:1"])))
    await stub.wait_for(2)
    pass_time(60)
    with pytest.raises(Timeout):
        await call
    assert len(stub.asked("POST", "/v1/search")) == 2
