"""The embedder against a scripted server: batches, order, limits, harmless failures."""

import asyncio
import logging
import reprlib
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from language.embedder import MAX_CHARACTERS, MAX_TEXTS, Embedder
from language.endpoint import MAX_ANSWER
from tests.integration.language.scripted import Scripted, scripted

pytestmark = pytest.mark.anyio
KEY = "canary-key-123"


def vectors(body: Any) -> object:
    """The length of each text as its vector, the last text first."""
    rows = [{"index": at, "embedding": [len(it), 1]} for at, it in enumerate(body["input"])]
    return {"data": rows[::-1]}


@asynccontextmanager
async def embedder(server: Scripted, **settings: Any) -> AsyncIterator[Embedder]:
    client = Embedder(server.url, "some-model", KEY, **settings)
    try:
        yield client
    finally:
        await client.aclose()


async def test_every_text_gets_its_own_vector() -> None:
    with scripted(vectors) as server:
        async with embedder(server) as client:
            made = await client.embed(["a", "bb", "ccc"])
    assert made == [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]
    body = {"model": "some-model", "input": ["a", "bb", "ccc"]}
    assert server.asked == [("/v1/embeddings", f"Bearer {KEY}", body)]


async def test_the_address_is_used_as_it_is() -> None:
    with scripted(vectors) as server:
        for url in (server.url.removesuffix("/v1"), server.url + "/"):
            client = Embedder(url, "m")
            await client.embed_query("a")
            await client.aclose()
    assert [it[:2] for it in server.asked] == [("/embeddings", None), ("/v1/embeddings", None)]


@pytest.mark.parametrize("proxies", [False, True])
async def test_proxies_of_the_environment_are_used_when_wanted(
    proxies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with scripted(vectors) as server, scripted(vectors) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        async with embedder(server, proxies=proxies) as client:
            assert await client.embed_query("a") == [1.0, 1.0]
    assert (len(server.asked), len(proxy.asked)) == ((0, 1) if proxies else (1, 0))


async def test_many_and_long_texts_are_sent_in_parts() -> None:
    with scripted(vectors) as server:
        async with embedder(server) as client:
            made = await client.embed(["x" * 20_000] * (MAX_TEXTS + 1))
    assert made == [[float(MAX_CHARACTERS), 1.0]] * (MAX_TEXTS + 1)
    assert [len(it[2]["input"]) for it in server.asked] == [MAX_TEXTS, 1]


async def test_after_a_part_that_failed_the_rest_is_not_sent() -> None:
    answers: list[Callable[[Any], object]] = [vectors, lambda _: (503, b"")]
    with scripted(lambda body: answers.pop(0)(body)) as server:
        async with embedder(server) as client:
            made = await client.embed(["x"] * (3 * MAX_TEXTS))
    assert made == [[1.0, 1.0]] * MAX_TEXTS + [None] * (2 * MAX_TEXTS)
    assert len(server.asked) == 2


async def test_any_2xx_is_a_success() -> None:
    with scripted(lambda _: (201, b'{"data": [{"embedding": [1]}]}')) as server:
        async with embedder(server) as client:
            assert await client.embed_query("a") == [1.0]


async def test_without_texts_no_request_is_sent() -> None:
    with scripted(vectors) as server:
        async with embedder(server) as client:
            assert await client.embed([]) == []
    assert server.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        (500, b"{}"),
        (401, b'{"error": "canary-key-123"}'),
        (200, b"not json"),
        (200, b"\xff"),
        (200, b"[" * 100_000),
        (200, b"x" * (MAX_ANSWER + 1)),
        {},
        [],
        {"data": []},
        {"data": [{"embedding": []}]},
        {"data": [{"embedding": ["1"]}]},
        {"data": [{"embedding": [True]}]},
        {"data": [{"embedding": [float("nan")]}]},
        {"data": [{"embedding": [1e300]}]},
        {"data": [{"embedding": [1], "index": 7}]},
        {"data": [{"embedding": [1]}, {"embedding": [1]}]},
        {"data": [None]},
        {"data": "x"},
    ],
    ids=reprlib.repr,
)
async def test_an_unusable_answer_only_loses_the_vector(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with scripted(lambda _: answer) as server:
        async with embedder(server) as client:
            assert await client.embed(["secret text"]) == [None]
            assert client.failure
            assert await client.embed_query("secret text") is None
    logged = caplog.text + repr([it.__dict__ for it in caplog.records]) + repr(client)
    assert "the embedder failed" in caplog.text
    assert KEY not in logged
    assert "secret text" not in logged


async def test_a_success_clears_the_failure() -> None:
    answers: list[object] = [(500, b""), {"data": [{"embedding": [1]}]}]
    with scripted(lambda _: answers.pop(0)) as server:
        async with embedder(server) as client:
            assert await client.embed_query("a") is None
            assert client.failure == "status 500"
            assert await client.embed_query("a") == [1.0]
            assert client.failure is None


async def test_a_missing_server_only_loses_the_vector() -> None:
    with scripted(vectors) as server:
        url = server.url
    client = Embedder(url, "m")
    assert await client.embed_query("a") is None
    assert client.failure == "ConnectError"
    await client.aclose()
    assert await client.embed_query("a") is None


async def test_a_silent_server_is_not_waited_for() -> None:
    done = threading.Event()
    with scripted(lambda body: done.wait(60) and vectors(body)) as server:
        async with embedder(server, timeout=0.2) as client:
            assert await client.embed_query("a", within=0.05) is None
            assert client.failure == "timeout"
            assert await client.embed(["a"]) == [None]
            assert client.failure == "timeout"
        done.set()


async def test_a_question_does_not_wait_for_batches() -> None:
    done = threading.Event()

    def answer(body: Any) -> object:
        if body["input"] != ["question"]:
            done.wait(60)
        return vectors(body)

    with scripted(answer) as server:
        async with embedder(server, timeout=60) as client:
            batches = [asyncio.create_task(client.embed(["a", "b"])) for _ in range(5)]
            await asyncio.sleep(0)
            assert await client.embed_query("question") == [8.0, 1.0]
            assert not any(it.done() for it in batches)
            done.set()
            assert await asyncio.gather(*batches) == [[[1.0, 1.0], [1.0, 1.0]]] * 5
