"""Rulings 10, 16 and 18: facts by rules, and the optional models, which are best effort."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import pytest

from contract import (
    CAPABILITIES,
    EXTENSIONS,
    BadRequest,
    Capability,
    Extension,
    Memory,
    MemoryWrite,
    MemoryWriteResponse,
    SearchRequest,
)
from harness.example import ExamplePlugin, Store
from tests.integration.gateway import people
from tests.integration.gateway.people import Gateway, Person, checked, message, turn
from tests.integration.gateway.plugin import Switchboard
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


@dataclass
class OpenAI:
    """A scripted server of OpenAI's API."""

    facts: list[str] = field(default_factory=list)
    is_down: bool = False
    is_slow: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)
    port: int = 0
    calls: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls.append(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Who asked may not have waited, not even to send the request.
        with suppress(OSError, asyncio.IncompleteReadError):
            await self._reply(reader, writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def _reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        lines = asked.decode().lower().split("\r\n")
        [length] = [int(it.split(":")[1]) for it in lines if it.startswith("content-length:")]
        request = json.loads(await reader.readexactly(length))
        self.asked.append({**request, "path": lines[0].split()[1], "head": asked.decode()})
        while self.is_slow:  # noqa: ASYNC110 - until the test says so
            await asyncio.sleep(0.05)
        status, body = ("503 No", "nonsense") if self.is_down else ("200 OK", self._answer(request))
        payload = body.encode()
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(payload)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + payload)
        await writer.drain()

    def _answer(self, request: dict[str, Any]) -> str:
        if "input" in request:
            data = [
                {"index": place, "embedding": [float("drink" in text), float("ship" in text), 0.1]}
                for place, text in enumerate(request["input"])
            ]
            return json.dumps({"data": data})
        content = "```json\n" + json.dumps({"facts": self.facts}) + "\n```"
        return json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]})


@asynccontextmanager
async def openai() -> AsyncIterator[OpenAI]:
    api = OpenAI()
    server = await asyncio.start_server(api.begin, "127.0.0.1", 0)
    api.port = server.sockets[0].getsockname()[1]
    async with server:
        yield api
        api.is_slow = False
        # A connection that outlives its event loop fails a later test.
        await asyncio.gather(*api.calls)


async def facts(person: Person, query: str) -> list[str]:
    found = await person.search(query, top_k=50)
    return [it["text"] for it in found if it["raw"]["type"] == "fact"]


async def test_ruling_16_rules_find_facts_in_what_users_say(ann: Person) -> None:
    await ann.add(
        "chat:1",
        message("My name is Ann. The weather is fine. I don't like coffee."),
        message('I live in Berlin. Is coffee good? He said: "I like coffee".'),
        message("I like coffee very much.", "assistant"),
    )
    answer = await ann.flush("chat:1")
    assert answer["memory_count"] == 4
    assert await facts(ann, "name") == ["My name is Ann."]
    assert await facts(ann, "Berlin") == ["I live in Berlin."]
    assert await facts(ann, "coffee") == ["I don't like coffee."]
    [fact] = [it for it in await ann.search("Berlin") if it["raw"]["type"] == "fact"]
    assert fact["raw"]["sender_ids"] == ["ann"]


async def test_ruling_16_an_llm_adds_facts_after_the_flush(store: str, plugin: Switchboard) -> None:
    async with (
        openai() as api,
        people.gateway(
            store, plugin.client(), llm_url=api.url, llm_model="m", llm_api_key="sk-secret"
        ) as gateway,
    ):
        ann = await gateway.person()
        assert (await gateway.http.get("/health")).json()["extractor"] == "llm"
        api.facts = ["Ann owns a boat", "x" * 301, "Her key is AKIAIOSFODNN7EXAMPLE"]
        api.is_slow = True
        assert (await ann.say("chat:1", "The boat needs paint"))["memory_count"] == 1
        api.is_slow = False
        await eventually(lambda: facts(ann, "boat"))
        assert await facts(ann, "boat") == ["Ann owns a boat"]
        assert await facts(ann, "key") == ["Her key is [REDACTED:API_KEY]"]
        assert api.asked[0]["path"] == "/v1/chat/completions"
        assert "sk-secret" in api.asked[0]["head"]
        assert (await ann.flush("chat:1"))["status"] == "no_extraction"


async def test_ruling_16_a_question_survives_the_gateway_and_the_model(
    store: str, plugin: Switchboard
) -> None:
    async with openai() as api:
        named = {"llm_url": api.url, "llm_model": "m"}
        api.facts = ["Ann owns a boat"]
        api.is_down = True
        async with people.gateway(store, plugin.client(), **named) as gateway:
            ann = await gateway.person()
            await ann.say("chat:1", "The boat needs paint")
            await eventually(lambda: _count(api.asked))
            await eventually(lambda: counts_a_failure(gateway, "llm"))
        api.is_down = False
        # Else it would be asked again only after ten seconds.
        connection = await asyncpg.connect(store)
        await connection.execute("UPDATE memory_gateway.questions SET try_at = now()")
        await connection.close()
        async with people.gateway(store, plugin.client(), **named) as gateway:
            ann = Person(gateway.http, ann.user_id, ann.key)
            await eventually(lambda: facts(ann, "boat"))
            assert await facts(ann, "boat") == ["Ann owns a boat"]


async def _count(asked: list[Any]) -> int:
    return len(asked)


@pytest.mark.parametrize("how", ["memory", "session", "edit"])
async def test_ruling_18_a_late_fact_brings_nothing_back(
    store: str, plugin: Switchboard, how: str
) -> None:
    async with (
        openai() as api,
        people.gateway(store, plugin.client(), llm_url=api.url, llm_model="m") as gateway,
    ):
        ann = await gateway.person()
        api.facts = ["Ann owns a boat"]
        api.is_slow = True
        await ann.say("chat:1", "The boat needs paint")
        await eventually(lambda: _count(api.asked))
        [memory] = await ann.search("boat")
        if how == "memory":
            assert (await ann.delete(f"/memories/{memory['id']}")).status_code == 204
        elif how == "session":
            assert (await ann.delete("/sessions/chat:1")).status_code == 204
        else:
            checked(await ann.patch(memory["id"], "Nothing"), 200)
        api.is_slow = False
        await ann.say("chat:2", "The ship needs paint")
        api.facts = ["Ann owns a ship"]

        async def is_asked_about_the_ship() -> bool:
            return bool(await facts(ann, "owns"))

        await eventually(is_asked_about_the_ship)
        assert await ann.search("boat") in ([], await facts_of_the_ship(ann))


async def facts_of_the_ship(person: Person) -> list[dict[str, Any]]:
    return [it for it in await person.search("boat") if it["session_id"] == "chat:2"]


async def counts_a_failure(gateway: Gateway, model: str) -> bool:
    metrics = (await gateway.http.get("/metrics")).text
    return f'memory_gateway_model_failures_total{{model="{model}"}}' in metrics


async def test_ruling_10_with_an_embedder_search_is_hybrid(
    store: str, plugin: Switchboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        openai() as api,
        people.gateway(store, plugin.client(), embed_url=api.url, embed_model="e") as gateway,
    ):
        ann = await gateway.person()
        assert (await gateway.http.get("/health")).json()["embedder"] == "on"
        await ann.add("chat:1", *turn("We drink tea"), *turn("The ship is red"))
        await ann.flush("chat:1")
        # No word in common, but the same direction.
        found = await ann.texts("drinking something", top_k=1)
        assert found == ["User: We drink tea\nAssistant: Noted."]
        assert not await counts_a_failure(gateway, "embedder")
        api.is_slow = True
        # It goes on with words alone.
        monkeypatch.setattr("gateway.models._QUERY_SECONDS", 0.1)
        assert len(await ann.search("ship")) == 1
        assert await counts_a_failure(gateway, "embedder")
        api.is_slow = False
        api.is_down = True
        assert len(await ann.search("tea")) == 1
        await ann.say("chat:1", "Coffee is hot")
        assert len(await ann.search("coffee")) == 1


@pytest.mark.parametrize("extensions", [EXTENSIONS, ()], ids=["all", "none"])
async def test_ruling_10_without_text_search_embeddings_are_still_used(
    store: str, extensions: tuple[Extension, ...]
) -> None:
    plugin = Switchboard(ExamplePlugin(Store(), ["embedding", "propagation"], extensions))
    async with (
        openai() as api,
        people.gateway(store, plugin.client(), embed_url=api.url, embed_model="e") as gateway,
    ):
        ann = await gateway.person()
        await ann.say("chat:1", "My ship is red", "We drink tea")
        first, *_ = await ann.texts("what to drinks")
        assert "drink tea" in first
        first, *_ = await ann.texts("red")
        assert "ship is red" in first
        api.is_down = True
        assert await ann.texts("what to drinks") == []
        assert len(await ann.texts("red")) == 1


class OneDimension(Store):
    """It takes embeddings of one dimension only, which is not that of the embedder."""

    dimension = 2

    def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
        if body.embedding is not None and len(body.embedding) != self.dimension:
            raise BadRequest(f"embedding: must have {self.dimension} numbers")
        return super().write(name, body)

    def search(self, body: SearchRequest) -> list[Memory]:
        if body.embedding is not None and len(body.embedding) != self.dimension:
            return []
        return super().search(body)


@pytest.mark.parametrize("extensions", [EXTENSIONS, ()], ids=["in batches", "one by one"])
async def test_ruling_16_a_plugin_of_another_dimension_gets_memories_without_embeddings(
    store: str, extensions: tuple[Extension, ...]
) -> None:
    plugin = Switchboard(ExamplePlugin(OneDimension(), CAPABILITIES, extensions))
    async with (
        openai() as api,
        people.gateway(store, plugin.client(), embed_url=api.url, embed_model="e") as gateway,
    ):
        ann = await gateway.person()
        await ann.say("chat:1", "We drink tea", "The ship is red")
        assert await counts_a_failure(gateway, "embedder")
        assert (await ann.upload("Coffee is hot"))["status"] == "extracted"
        [tea] = await ann.search("tea")
        checked(await ann.patch(tea["id"], "We drink milk"), 200)
        assert await ann.texts("milk") == ["We drink milk"]
        assert await ann.texts("coffee") == ["Coffee is hot"]


class RefusesOthers(OneDimension):
    """It also refuses to search by embeddings of another dimension."""

    def search(self, body: SearchRequest) -> list[Memory]:
        if body.embedding is not None and len(body.embedding) != self.dimension:
            raise BadRequest(f"embedding: must have {self.dimension} numbers")
        return super().search(body)


@pytest.mark.parametrize("capabilities", [CAPABILITIES, ["embedding"]], ids=["all", "no words"])
async def test_ruling_10_a_plugin_that_refuses_an_embedding_is_searched_by_words(
    store: str, capabilities: list[Capability]
) -> None:
    plugin = Switchboard(ExamplePlugin(RefusesOthers(), capabilities))
    async with (
        openai() as api,
        people.gateway(store, plugin.client(), embed_url=api.url, embed_model="e") as gateway,
    ):
        ann = await gateway.person()
        for number, drink in enumerate(("tea", "milk", "water", "juice")):
            await ann.say(f"chat:{number}", f"We drink {drink}")
        for drink in ("tea", "milk"):
            plugin.requests.clear()
            assert await ann.texts(drink) == [f"User: We drink {drink}\nAssistant: Noted."]
            # It does not take the embedding for a list of namespaces that is too long.
            assert plugin.requests.count("POST /v1/search") == 2


async def test_a_memory_that_is_refused_without_its_embedding_is_no_failure_of_the_embedder(
    store: str, plugin: Switchboard
) -> None:
    async with (
        openai() as api,
        people.gateway(store, plugin.client(), embed_url=api.url, embed_model="e") as gateway,
    ):
        ann = await gateway.person()
        await ann.add("chat:1", *turn("We drink poison"))
        plugin.refuses = lambda body: "poison" in body
        checked(await ann.post("/memories/flush", session_id="chat:1"), 503)
        assert not await counts_a_failure(gateway, "embedder")


async def test_a_flush_counts_only_what_it_took(store: str, plugin: Switchboard) -> None:
    refused = asyncio.Event()

    def refuses(body: str) -> bool:
        if "owns a boat" in body:
            refused.set()
        return refused.is_set()

    plugin.refuses = refuses
    async with (
        openai() as api,
        people.gateway(store, plugin.client(), llm_url=api.url, llm_model="m") as gateway,
    ):
        ann = await gateway.person()
        api.facts = ["Ann owns a boat"]
        assert (await ann.say("chat:1", "The boat needs paint"))["memory_count"] == 1
        await refused.wait()
        plugin.refuses = lambda _: False
        # It also writes the fact, which nobody had added to the buffer.
        answer = await ann.flush("chat:1")
        assert (answer["status"], answer["memory_count"]) == ("no_extraction", 0)
        await eventually(lambda: facts(ann, "boat"))


async def test_models_are_off_unless_configured(ann: Person) -> None:
    await ann.say("chat:1", "My name is Ann")
    health = (await ann.http.get("/health")).json()
    assert (health["extractor"], health["embedder"]) == ("rules", "off")
