"""A chat through the proxy: what is learned, what is recalled, when, and by whom."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from recall.injection import INTRODUCTION
from tests.integration.recall.server import Recall
from tests.integration.recall.upstream import Model, Received, chunk, event, head, whole
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

PATHS = ["/v1/chat/completions", "/v1/messages", "/v1/responses"]


def asking(path: str, text: str, *before: dict[str, str], **more: Any) -> dict[str, Any]:
    if path == "/v1/responses":
        items = [*before, {"role": "user", "content": text}]
        return {"model": "m", "input": items if before else text, **more}
    return {"model": "m", "messages": [*before, {"role": "user", "content": text}], **more}


async def facts(api: httpx.AsyncClient, owner: str) -> list[dict[str, Any]]:
    shown = (await api.get("/api/memory", params={"apiKeyId": owner})).json()
    rows: list[dict[str, Any]] = shown["data"]
    return rows


async def learned(api: httpx.AsyncClient, owner: str, count: int) -> list[dict[str, Any]]:
    async def enough() -> list[dict[str, Any]]:
        rows = await facts(api, owner)
        return rows if len(rows) >= count else []

    rows: list[dict[str, Any]] = await eventually(enough)
    return rows


@asynccontextmanager
async def settings(api: httpx.AsyncClient, **changes: Any) -> AsyncIterator[None]:
    before = (await api.get("/api/settings/memory")).json()
    answer = await api.put("/api/settings/memory", json=changes)
    assert answer.status_code == 200, answer.text
    try:
        yield
    finally:
        del before["effectiveMaxTokens"]
        await api.put("/api/settings/memory", json=before)


class TestLearning:
    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize("stream", [False, True])
    async def test_both_sides_are_learned_from(
        self,
        chat: httpx.AsyncClient,
        api: httpx.AsyncClient,
        owner: str,
        path: str,
        stream: bool,
    ) -> None:
        answer = await chat.post(
            path,
            json=asking(path, "I prefer dark mode.", stream=stream),
            headers={"x-test-say": "Noted. You prefer tea over coffee.", "x-session-id": "s-1"},
        )
        assert answer.status_code == 200
        rows = {row["key"]: row for row in await learned(api, owner, 2)}
        assert set(rows) == {"preference:dark_mode", "preference:tea_over_coffee"}
        mine = rows["preference:dark_mode"]
        assert mine["content"] == "I prefer dark mode"
        assert mine["sessionId"] == "s-1"
        assert mine["metadata"] | {"extractedAt": ""} == {
            "category": "preference",
            "polarity": "positive",
            "speaker": "user",
            "source": "user_message",
            "extractedAt": "",
        }
        told = rows["preference:tea_over_coffee"]
        assert told["content"] == "I prefer tea over coffee"
        assert told["metadata"]["source"] == "llm_response"
        assert told["metadata"]["speaker"] == "assistant"

    @pytest.mark.parametrize("bad", ["\x00", "\ud800"], ids=["NUL", "surrogate"])
    @pytest.mark.parametrize("stream", [False, True])
    async def test_a_character_that_cannot_be_stored_loses_no_fact(
        self,
        chat: httpx.AsyncClient,
        api: httpx.AsyncClient,
        owner: str,
        model: Model,
        bad: str,
        stream: bool,
    ) -> None:
        async def talk(_: Received, writer: asyncio.StreamWriter) -> None:
            said = {"content": f"You prefer tea{bad} over coffee. You hate noise."}
            if stream:
                body = event({"choices": [{"index": 0, "delta": said}]}) + event("[DONE]")
                writer.write(whole(body, "content-type: text/event-stream"))
            else:
                writer.write(whole(json.dumps({"choices": [{"message": said}]}).encode()))

        model.respond = talk
        text = f"I prefer kept things. I like bad{bad} things. I hate other things."
        body = json.dumps(asking(PATHS[0], text, stream=stream))
        await chat.post(PATHS[0], content=body)
        rows = {row["key"] for row in await learned(api, owner, 5)}
        assert rows == {
            "preference:kept_things",
            "preference:bad_things",
            "preference:other_things",
            "preference:tea_over_coffee",
            "preference:noise",
        }

    async def test_nothing_is_learned_from_what_failed_or_opted_out(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str, model: Model
    ) -> None:
        path = PATHS[0]

        async def failing(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(head(500, "content-length: 0"))

        model.respond = failing
        await chat.post(path, json=asking(path, "I prefer vim."))
        model.reset()
        for header in ("all", "extract", "no thanks"):
            await chat.post(
                path, json=asking(path, "I prefer emacs."), headers={"x-memory-skip": header}
            )
        await chat.post(path, json=asking(path, "I prefer nano."))
        await learned(api, owner, 1)
        assert [row["key"] for row in await facts(api, owner)] == ["preference:nano"]

    async def test_a_broken_stream_is_learned_from_on_the_users_side(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str, model: Model
    ) -> None:
        async def broken(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(head(200, "content-type: text/event-stream", "transfer-encoding: chunked"))
            said = {"choices": [{"index": 0, "delta": {"content": "You prefer silence. "}}]}
            writer.write(chunk(event(said)))
            await writer.drain()
            writer.transport.abort()

        model.respond = broken
        path = PATHS[0]
        with pytest.raises(httpx.RemoteProtocolError):
            await chat.post(path, json=asking(path, "I prefer noise.", stream=True))
        [row] = await learned(api, owner, 1)
        assert row["key"] == "preference:noise"

    @pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, br"])
    async def test_an_answer_in_a_foreign_encoding_passes_and_the_users_side_is_learned_from(
        self,
        chat: httpx.AsyncClient,
        api: httpx.AsyncClient,
        owner: str,
        model: Model,
        encoding: str,
    ) -> None:
        body = b"\x28\xb5\x2f\xfd compressed"

        async def compressed(_: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(
                whole(body, "content-type: application/json", f"content-encoding: {encoding}")
            )

        model.respond = compressed
        path = PATHS[0]
        sent = {"accept-encoding": encoding}
        asked = asking(path, "I prefer noise.")
        async with chat.stream("POST", path, json=asked, headers=sent) as answer:
            assert b"".join([piece async for piece in answer.aiter_raw()]) == body
        assert model.last.header("accept-encoding") == encoding
        [row] = await learned(api, owner, 1)
        assert row["key"] == "preference:noise"

    async def test_nothing_is_learned_from_recalls_own_block(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str
    ) -> None:
        block = f"{INTRODUCTION}\n<memory-context>\n- I prefer jazz\n</memory-context>"
        path = PATHS[0]
        await chat.post(
            path,
            json=asking(path, f"{block}\n\nI prefer rock."),
            headers={"x-test-say": "<memory-context>- You prefer soul.</memory-context> Fine."},
        )
        [row] = await learned(api, owner, 1)
        assert row["key"] == "preference:rock"

    async def test_a_new_stance_replaces_the_old_one(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str
    ) -> None:
        path = PATHS[0]
        await chat.post(path, json=asking(path, "I like Python."))
        await learned(api, owner, 1)
        await chat.post(path, json=asking(path, "I don't like Python."))

        async def turned() -> bool:
            [row] = await facts(api, owner)
            return bool(row["content"] == "I don't like Python")

        await eventually(turned)

    async def test_secrets_are_redacted(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str, server: Recall
    ) -> None:
        secret = "sk-proj-" + "a1B2" * 12
        path = PATHS[0]
        await chat.post(path, json=asking(path, f"I always use {secret} for tests."))
        await chat.post(path, json=asking(path, "I prefer blue."))
        await learned(api, owner, 1)
        assert secret not in json.dumps(await facts(api, owner))
        assert secret not in server.log

    async def test_learning_can_be_switched_off(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str
    ) -> None:
        path = PATHS[0]
        for off in ({"extractionEnabled": False}, {"enabled": False}):
            async with settings(api, **off):
                await chat.post(path, json=asking(path, "I prefer red."))
        await chat.post(path, json=asking(path, "I prefer blue."))
        await learned(api, owner, 1)
        assert [row["key"] for row in await facts(api, owner)] == ["preference:blue"]


class TestRecalling:
    async def remember(self, api: httpx.AsyncClient, owner: str, key: str, **more: Any) -> str:
        body = {"apiKeyId": owner, "key": key, "content": f"I like {key}"} | more
        answer = await api.post("/api/memory", json=body)
        assert answer.status_code == 200, answer.text
        made: str = answer.json()["id"]
        return made

    async def block(self, chat: httpx.AsyncClient, model: Model, text: str, **more: Any) -> str:
        answer = await chat.post(PATHS[0], json=asking(PATHS[0], text), **more)
        assert answer.status_code == 200
        first = model.last.json["messages"][0]
        return str(first["content"]) if first["role"] == "system" else ""

    async def test_what_was_said_is_known_in_a_new_session(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str, model: Model
    ) -> None:
        first = {"x-session-id": "one"}
        await self.block(chat, model, "I prefer dark mode in my editor.", headers=first)
        await learned(api, owner, 1)
        text = "Which mode for the editor?"
        assert "- I prefer dark mode in my editor" in await self.block(
            chat, model, text, headers={"x-session-id": "two"}
        )

    async def test_what_is_deleted_or_changed_is_not_recalled_on_any_worker(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str, model: Model
    ) -> None:
        for number in range(8):
            made = await self.remember(api, owner, "sugar")
            text = f"Do I like sugar? {number % 2}"
            blocks = await asyncio.gather(*(self.block(chat, model, text) for _ in range(4)))
            assert all("I like sugar" in block for block in blocks)
            await api.delete(f"/api/memory/{made}")
            for _ in range(4):
                assert await self.block(chat, model, text) == ""

    async def test_the_block_is_chosen_once_in_a_turn(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str, model: Model
    ) -> None:
        await self.remember(api, owner, "tea")
        text = "I prefer tea with milk. What tea?"
        first = await self.block(chat, model, text)
        await learned(api, owner, 2)
        # What was learned meanwhile does not change the turn that it comes from.
        for _ in range(4):
            assert await self.block(chat, model, text) == first
        await self.remember(api, owner, "tea-2", content="I like tea at five")
        assert "tea at five" in await self.block(chat, model, text)

    async def test_the_message_of_a_turn_is_learned_from_once(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str, model: Model
    ) -> None:
        text = "I prefer chess."
        await self.block(chat, model, text)
        [row] = await learned(api, owner, 1)
        await api.delete(f"/api/memory/{row['id']}")
        for _ in range(3):
            await self.block(chat, model, text)
        await self.block(chat, model, "I prefer poker.")
        await learned(api, owner, 1)
        assert [row["key"] for row in await facts(api, owner)] == ["preference:poker"]

    async def test_shared_memories_are_read_by_everybody_and_others_by_nobody(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str, model: Model
    ) -> None:
        word = owner.replace("-", "")
        shared = await self.remember(api, "", owner, content=f"note {word} for all")
        await self.remember(api, owner + "-other", "k", content=f"secret {word} of another")
        text = f"what about {word}?"
        block = await self.block(chat, model, text)
        assert "for all" in block
        assert "secret" not in block
        async with settings(api, scope="global"):
            assert "secret" in await self.block(chat, model, text)
        await api.delete(f"/api/memory/{shared}")

    async def test_scope_session(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str, model: Model
    ) -> None:
        await self.remember(api, owner, "jam", sessionId="s1")
        await self.remember(api, owner, "ham", sessionId="s2")
        async with settings(api, scope="session", strategy="recent"):
            header = {"x-omniroute-session-id": "s1"}
            block = await self.block(chat, model, "What do I like?", headers=header)
            assert "jam" in block
            assert "ham" not in block
            assert await self.block(chat, model, "What do I like?") == ""

    async def test_settings_are_obeyed_by_the_next_request_on_any_worker(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str, model: Model
    ) -> None:
        await self.remember(api, owner, "salt")
        for off in ({"enabled": False}, {"injectionEnabled": False}, {"maxTokens": 0}):
            async with settings(api, **off):
                blocks = await asyncio.gather(
                    *(self.block(chat, model, "Do I like salt?") for _ in range(4))
                )
                assert blocks == [""] * 4
            blocks = [await self.block(chat, model, "Do I like salt?") for _ in range(4)]
            assert all("salt" in block for block in blocks)

    async def test_recent_takes_the_newest_whatever_was_asked(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str, model: Model
    ) -> None:
        await self.remember(api, owner, "ink")
        assert await self.block(chat, model, "hello there") == ""
        async with settings(api, strategy="recent"):
            assert "ink" in await self.block(chat, model, "hello there")

    async def test_the_preview_shows_what_the_proxy_takes(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str, model: Model
    ) -> None:
        for number in range(6):
            await self.remember(api, owner, f"pie{number}", content=f"pie number {number} " * 20)
        body = {"query": "pie number 3", "apiKeyId": owner, "maxTokens": 200}
        shown = (await api.post("/api/memory/retrieve-preview", json=body)).json()
        assert shown["budgetMaxTokens"] == 200
        assert shown["totalTokensUsed"] <= 200
        assert shown["memories"][0]["key"] == "pie3"
        async with settings(api, maxTokens=200):
            block = await self.block(chat, model, "pie number 3")
        lines = [line[2:] for line in block.splitlines() if line.startswith("- ")]
        assert lines == [it["content"] for it in shown["memories"]]

    async def test_use_is_counted(
        self, chat: httpx.AsyncClient, api: httpx.AsyncClient, owner: str, model: Model
    ) -> None:
        made = await self.remember(api, owner, "rye")
        await self.block(chat, model, "rye?")
        await self.block(chat, model, "bread?")

        async def counted() -> bool:
            shown = (await api.get("/api/memory", params={"apiKeyId": owner})).json()
            stats = shown["stats"]
            return bool(
                stats["cacheStats"] == {"hits": 1, "misses": 1}
                and stats["hitRate"] == 0.5
                and stats["tokensInjected"] > 0
                and shown["data"][0]["accessCount"] == 1
            )

        await eventually(counted)
        memory = (await api.get(f"/api/memory/{made}")).json()["memory"]
        assert memory["lastAccessedAt"] >= memory["createdAt"]


class TestSettings:
    @pytest.mark.parametrize(
        "change",
        [
            {"maxTokens": -1},
            {"maxTokens": 16001},
            {"maxTokens": "1"},
            {"maxTokens": 1.5},
            {"maxTokens": None},
            {"retentionDays": 0},
            {"retentionDays": 366},
            {"strategy": "exact"},
            {"scope": "all"},
            {"placement": "middle"},
            {"providersWithoutSystem": ["a"] * 51},
            {"providersSystemFirst": [1]},
            {"retrievalBudgetMs": 0},
            {"retrievalBudgetMs": 5001},
            {"embeddingUrl": "ftp://x/v1"},
            {"embeddingUrl": "http://x"},
            {"enabled": 1},
            {"colour": "red"},
            [],
        ],
    )
    async def test_what_is_out_of_range_is_refused_and_nothing_stored(
        self, api: httpx.AsyncClient, change: Any
    ) -> None:
        before = (await api.get("/api/settings/memory")).json()
        body = {"retentionDays": 77} | change if isinstance(change, dict) else change
        answer = await api.put("/api/settings/memory", json=body)
        assert answer.status_code == 400
        assert (await api.get("/api/settings/memory")).json() == before

    async def test_all_are_answered(self, api: httpx.AsyncClient) -> None:
        async with settings(api, maxTokens=16000, skillsEnabled=True):
            shown = (await api.get("/api/settings/memory")).json()
            assert (shown["maxTokens"], shown["effectiveMaxTokens"]) == (16000, 8000)
            assert shown["skillsEnabled"] is True
        shown = (await api.get("/api/settings/memory")).json()
        assert shown == {
            "enabled": True,
            "extractionEnabled": True,
            "injectionEnabled": True,
            "maxTokens": 2000,
            "effectiveMaxTokens": 2000,
            "retentionDays": 30,
            "strategy": "hybrid",
            "scope": "apiKey",
            "placement": "auto",
            "providersWithoutSystem": [],
            "providersSystemFirst": [],
            "retrievalBudgetMs": 5000,  # the tests' own
            "embeddingUrl": None,
            "embeddingModel": None,
            "skillsEnabled": False,
        }


class TestKeys:
    async def test_a_key_is_shown_once_and_obeyed_at_once(
        self, server: Recall, api: httpx.AsyncClient
    ) -> None:
        made = (await api.post("/api/keys", json={"name": "laptop"})).json()
        assert set(made) == {"id", "name", "key", "createdAt", "disabled"}
        assert len(made["key"]) == 43
        shown = [it for it in (await api.get("/api/keys")).json()["keys"] if it["id"] == made["id"]]
        assert shown == [{k: v for k, v in made.items() if k != "key"}]
        path = f"/api/keys/{made['id']}"
        headers = {"authorization": f"Bearer {made['key']}"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60) as client:
            for _ in range(4):
                answer = await client.post(PATHS[0], json=asking(PATHS[0], "hi"))
                assert answer.headers["x-memory-injected"] == "0"
            assert (await api.patch(path, json={"disabled": True})).json()["disabled"] is True
            for _ in range(4):
                answer = await client.post(PATHS[0], json=asking(PATHS[0], "hi"))
                assert answer.status_code == 401
            assert (await api.patch(path, json={"disabled": False})).status_code == 200
            for _ in range(4):
                answer = await client.get("/v1/models")
                assert answer.status_code == 200
        renamed = (await api.patch(path, json={"name": "desk"})).json()
        assert renamed["name"] == "desk"

    @pytest.mark.parametrize("memories", ["keep", "delete"])
    async def test_removing_a_key(self, api: httpx.AsyncClient, memories: str) -> None:
        key_id = (await api.post("/api/keys", json={"name": "a"})).json()["id"]
        await api.post("/api/memory", json={"apiKeyId": key_id, "key": "k", "content": "c"})
        answer = await api.delete(f"/api/keys/{key_id}?memories={memories}")
        assert answer.status_code == 200
        assert len(await facts(api, key_id)) == (1 if memories == "keep" else 0)
        assert (await api.delete(f"/api/keys/{key_id}")).status_code == 404
        assert (await api.patch(f"/api/keys/{key_id}", json={"name": "b"})).status_code == 404

    @pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": "x" * 201}, {"name": 1}])
    async def test_bad_names(self, api: httpx.AsyncClient, body: dict[str, Any]) -> None:
        assert (await api.post("/api/keys", json=body)).status_code == 400


async def test_nothing_that_was_said_is_in_the_log(server: Recall) -> None:
    for word in ("dark mode", "sugar", "Bearer", "test-management", "solarized"):
        assert word not in server.log
