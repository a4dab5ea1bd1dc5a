"""Retrieval by meaning with a scripted embedder; when it fails, words, and the reason."""

import threading
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from contract import EXTENSIONS, MemoryClient
from contract.scalars import Extension
from harness.example import create_app
from language.embedder import Embedder
from recall.retrieval import NEAREST, Resolution, RetrievalConfig, Retrieved, retrieve
from recall.store import MemoryStore
from tests.integration.language.scripted import Scripted, scripted
from tests.waiting import SECONDS

pytestmark = pytest.mark.anyio
OWNER = "ann"


def directions(body: Any) -> object:
    """Drinks in one direction, ships in the other."""
    rows = [{"embedding": [float("drink" in it), float("ship" in it), 0.1]} for it in body["input"]]
    return {"data": rows}


@asynccontextmanager
async def recall_with(
    server: Scripted, extensions: Collection[Extension] = EXTENSIONS
) -> AsyncIterator[MemoryStore]:
    plugin = httpx.ASGITransport(create_app(extensions=extensions))
    client = MemoryClient("http://plugin", timeout=60, transport=plugin)
    embedder = Embedder(server.url, "some-model", timeout=SECONDS)
    try:
        yield MemoryStore(client, embedder=embedder)
    finally:
        await embedder.aclose()
        await client.aclose()


async def ask(store: MemoryStore, query: str, **more: Any) -> Retrieved:
    config = RetrievalConfig(
        query=query, strategy="semantic", **{"embedding_seconds": SECONDS} | more
    )
    return await retrieve(store, OWNER, config)


def fell_back(reason: str) -> Resolution:
    return Resolution("semantic", "remote", "some-model", reason)


async def test_what_means_the_same_is_found() -> None:
    with scripted(directions) as server:
        async with recall_with(server) as store:
            tea = await store.create(OWNER, "tea", "We drink tea")
            await store.create(OWNER, "ship", "The ship is red")
            found = await ask(store, "drinking something")
    assert tea.embedded_with == "some-model"
    assert [it.content for it in found.memories] == ["We drink tea"]
    assert found.resolution == Resolution("semantic", "remote", "some-model")


async def test_a_failing_embedder_only_loses_the_vector() -> None:
    with scripted(lambda _: (503, b"")) as server:
        async with recall_with(server) as store:
            tea = await store.create(OWNER, "tea", "We drink tea")
            found = await ask(store, "tea")
            failure = store.embedder and store.embedder.failure
    assert tea.embedded_with is None
    assert [it.content for it in found.memories] == ["We drink tea"]
    assert found.resolution == fell_back("the embedder failed")
    assert failure == "status 503"


async def test_a_slow_embedder_is_left_out() -> None:
    done = threading.Event()

    def slow(body: Any) -> object:
        if body["input"] == ["tea"]:
            done.wait(60)
        return directions(body)

    with scripted(slow) as server:
        async with recall_with(server) as store:
            await store.create(OWNER, "tea", "We drink tea")
            found = await ask(store, "tea", embedding_seconds=0.05)
        done.set()
    assert [it.content for it in found.memories] == ["We drink tea"]
    assert found.resolution == fell_back("the embedder did not answer in time")


async def test_vectors_of_another_model_are_not_compared() -> None:
    with scripted(directions) as server:
        async with recall_with(server) as store:
            await store.create(OWNER, "tea", "We drink tea")
            store.embedder = Embedder(server.url, "another", timeout=SECONDS)
            try:
                found = await ask(store, "drinking something")
            finally:
                await store.embedder.aclose()
    assert found.memories == []
    reason = "no memory has a vector of this model"
    assert found.resolution == Resolution("semantic", "remote", "another", reason)


@pytest.mark.parametrize("extensions", [EXTENSIONS, ["batch", "list", "get"]])
async def test_vectors_of_another_model_do_not_hide_those_of_this_one(
    extensions: Collection[Extension],
) -> None:
    with scripted(directions) as server:
        async with recall_with(server, extensions) as store:
            old = store.embedder
            for number in range(NEAREST + 5):
                await store.create(OWNER, f"old-{number}", f"We drink tea {number}")
            store.embedder = Embedder(server.url, "another", timeout=SECONDS)
            try:
                await store.create(OWNER, "new", "We drink on the ship")
                found = await ask(store, "drinking something")
            finally:
                await store.embedder.aclose()
                store.embedder = old
    assert [it.key for it in found.memories] == ["new"]
    assert found.resolution.fallback_reason is None


async def test_an_embedder_that_is_removed_meanwhile_is_used_to_the_end() -> None:
    opened: list[MemoryStore] = []

    def last(body: Any) -> object:
        for store in opened:
            store.embedder = None
        return directions(body)

    with scripted(last) as server:
        async with recall_with(server) as store:
            embedder = store.embedder
            tea = await store.create(OWNER, "tea", "We drink tea")
            opened.append(store)
            made = await store.create(OWNER, "milk", "We drink milk")
            assert store.embedder is None
            store.embedder = embedder
            await store.touch(tea)
            # Without an embedder, there is no vector to add, and none is taken away.
            await store.touch(made)
            kept = [await store.get(it.id, api_key_id=OWNER) for it in (tea, made)]
    assert made.embedded_with == "some-model"
    assert [it and it.embedded_with for it in kept] == ["some-model", "some-model"]


async def test_the_settings_name_the_embedder(api: httpx.AsyncClient, owner: str) -> None:
    with scripted(directions) as server:
        named = {"embeddingUrl": server.url, "embeddingModel": "some-model"}
        assert (await api.put("/api/settings/memory", json=named)).status_code == 200
        try:
            made = {"apiKeyId": owner, "key": "tea", "content": "We drink tea", "type": "factual"}
            assert (await api.post("/api/memory", json=made)).status_code == 200
            body = {"query": "drinking something", "strategy": "semantic", "apiKeyId": owner}
            shown = (await api.post("/api/memory/retrieve-preview", json=body)).json()
            status = (await api.get("/api/memory/engine-status")).json()
        finally:
            await api.put("/api/settings/memory", json=dict.fromkeys(named))
    assert [it["content"] for it in shown["memories"]] == ["We drink tea"]
    assert shown["resolution"]["embeddingModel"] == "some-model"
    assert shown["resolution"]["fallbackReason"] is None
    assert status["embedding"] == {"available": True, "model": "some-model", "reason": None}
    assert {path for path, _, _ in server.asked} == {"/v1/embeddings"}
