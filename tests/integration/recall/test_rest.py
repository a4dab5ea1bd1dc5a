"""The REST API about memories: every row of the table."""

import asyncio
import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from contract import MemoryClient, MemoryWrite
from recall.injection import format_memory_context
from recall.memory import memory_id, namespace_of
from tests.integration.recall.server import Recall
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


async def put(api: httpx.AsyncClient, owner: str, key: str, **more: Any) -> dict[str, Any]:
    body = {"apiKeyId": owner, "key": key, "content": f"content of {key}"} | more
    answer = await api.post("/api/memory", json=body)
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    assert shown["success"] is True
    assert shown["id"] == shown["memory"]["id"]
    memory: dict[str, Any] = shown["memory"]
    return memory


async def listed(api: httpx.AsyncClient, owner: str, **query: Any) -> dict[str, Any]:
    answer = await api.get("/api/memory", params={"apiKeyId": owner, **query})
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


class TestTokens:
    async def test_no_or_an_unknown_token_is_401_and_an_api_key_403(self, server: Recall) -> None:
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            for method, path in [
                ("GET", "/api/memory"),
                ("POST", "/api/memory"),
                ("GET", "/api/settings/memory"),
                ("GET", "/api/keys"),
                ("GET", "/api/nothing"),
            ]:
                answer = await client.request(method, path)
                assert answer.status_code == 401
                assert answer.json()["error"]["code"] == "unauthorized"
                key = {"authorization": "Bearer some-api-key"}
                answer = await client.request(method, path, headers=key)
                assert answer.status_code == 403
                assert answer.json()["error"]["code"] == "forbidden"
            x_api_key = {"x-api-key": "test-management"}
            assert (await client.get("/api/memory", headers=x_api_key)).status_code == 200


class TestCreate:
    async def test_a_new_memory(self, api: httpx.AsyncClient, owner: str) -> None:
        memory = await put(api, owner, "k", metadata={"a": [1, None, "ü"]}, sessionId="s")
        assert memory["id"] == memory_id(owner, "k")
        assert memory | {"createdAt": "", "updatedAt": "", "id": ""} == {
            "id": "",
            "apiKeyId": owner,
            "sessionId": "s",
            "type": "factual",
            "key": "k",
            "content": "content of k",
            "metadata": {"a": [1, None, "ü"]},
            "createdAt": "",
            "updatedAt": "",
            "expiresAt": None,
            "accessCount": 0,
            "lastAccessedAt": None,
        }
        assert memory["createdAt"].endswith("Z")
        shown = await api.get(f"/api/memory/{memory['id']}")
        assert shown.json() == {"memory": memory}

    async def test_an_upsert_replaces_merges_and_keeps(
        self, api: httpx.AsyncClient, owner: str
    ) -> None:
        later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
        first = await put(
            api,
            owner,
            "k",
            type="episodic",
            sessionId="s",
            metadata={"a": 1, "b": {"x": 1}},
            expiresAt=later,
        )
        second = await put(api, owner, "k", content="new", metadata={"b": {"y": 2}, "c": 3})
        assert second["id"] == first["id"]
        assert second["content"] == "new"
        assert second["metadata"] == {"a": 1, "b": {"y": 2}, "c": 3}
        for kept in ("createdAt", "accessCount", "type", "sessionId", "expiresAt"):
            assert second[kept] == first[kept]
        assert second["updatedAt"] > first["updatedAt"]
        third = await put(api, owner, "k", expiresAt=None)
        assert third["expiresAt"] is None
        assert (await listed(api, owner))["total"] == 1

    async def test_merged_metadata_have_the_same_limit(
        self, api: httpx.AsyncClient, owner: str
    ) -> None:
        await put(api, owner, "k", metadata={"a": "x" * 10_000})
        body = {"apiKeyId": owner, "key": "k", "content": "new", "metadata": {"b": "x" * 10_000}}
        answer = await api.post("/api/memory", json=body)
        assert answer.status_code == 400
        assert [it["field"] for it in answer.json()["error"]["details"]] == ["metadata"]
        [kept] = (await listed(api, owner))["data"]
        assert kept["content"] == "content of k"
        await put(api, owner, "k", metadata={"a": "short", "b": "x" * 10_000})

    async def test_without_an_owner_it_is_shared(self, api: httpx.AsyncClient, owner: str) -> None:
        answer = await api.post("/api/memory", json={"key": owner, "content": "for everybody"})
        assert answer.json()["memory"]["apiKeyId"] == ""
        await api.delete(f"/api/memory/{answer.json()['id']}")

    @pytest.mark.parametrize("name", ["with space", "a/b", "ключ", "h:x", "🙂" * 200, "a\u200bb"])
    async def test_any_owner_has_memories_of_its_own(
        self, api: httpx.AsyncClient, owner: str, name: str
    ) -> None:
        whose = (owner + name)[:200]
        memory = await put(api, whose, "k")
        assert [it["id"] for it in (await listed(api, whose))["data"]] == [memory["id"]]
        assert (await listed(api, whose))["data"][0]["apiKeyId"] == whose

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"key": "k"}, "content"),
            ({"content": "c"}, "key"),
            ({"content": "", "key": "k"}, "content"),
            ({"content": " \n\u3000", "key": "k"}, "content"),
            ({"content": "x" * 100_001, "key": "k"}, "content"),
            ({"content": "c", "key": ""}, "key"),
            ({"content": "c", "key": "k" * 513}, "key"),
            ({"content": "c\x00", "key": "k"}, "content"),
            ({"content": "c", "key": "k\x00"}, "key"),
            ({"content": 7, "key": "k"}, "content"),
            ({"content": "c", "key": "k", "type": "fact"}, "type"),
            ({"content": "c", "key": "k", "metadata": []}, "metadata"),
            ({"content": "c", "key": "k", "metadata": {"x": "y" * 16384}}, "metadata"),
            ({"content": "c", "key": "k", "metadata": {"x": "\x00"}}, "metadata"),
            ({"content": "c", "key": "k", "expiresAt": "tomorrow"}, "expiresAt"),
            ({"content": "c", "key": "k", "expiresAt": "2030-01-01T00:00:00"}, "expiresAt"),
            ({"content": "c", "key": "k", "apiKeyId": "a\nb"}, "apiKeyId"),
            ({"content": "c", "key": "k", "apiKeyId": "a" * 201}, "apiKeyId"),
            ({"content": "c", "key": "k", "sessionId": 1}, "sessionId"),
            ({"content": "c", "key": "k", "colour": "red"}, "colour"),
        ],
    )
    async def test_bad_input_is_400_and_names_the_field(
        self, api: httpx.AsyncClient, body: dict[str, Any], field: str
    ) -> None:
        answer = await api.post("/api/memory", json=body)
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["code"] == "bad_request"
        assert field in [detail["field"] for detail in error["details"]]

    @pytest.mark.parametrize(
        "raw",
        [
            b"",
            b"{",
            b"\xff\xfe",
            b'{"content":"\xff","key":"k"}',
            b'{"content":"\\ud800","key":"k"}',
            b'{"content":"c","key":"k","metadata":{"n":NaN}}',
            b'{"content":"c","key":"k","metadata":' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}",
            b'{"content":"c","key":"k","metadata":{"a":' + b"[" * 60_000 + b"]" * 60_000 + b"}}",
            b'{"content":"c","key":"k"} trailing',
            b"[]",
            b"null",
            b'"text"',
            b"9" * 5000,
        ],
    )
    async def test_no_body_makes_a_500(self, api: httpx.AsyncClient, raw: bytes) -> None:
        for method, path in [
            ("POST", "/api/memory"),
            ("PUT", f"/api/memory/{uuid.uuid4()}"),
            ("POST", "/api/memory/delete"),
            ("POST", "/api/memory/retrieve-preview"),
            ("POST", "/api/memory/extract-preview"),
            ("POST", "/api/memory/restore"),
            ("PUT", "/api/settings/memory"),
            ("POST", "/api/keys"),
        ]:
            answer = await api.request(method, path, content=raw)
            assert 400 <= answer.status_code < 500, (path, answer.text)
            assert set(answer.json()["error"]) == {"code", "message", "details"}

    async def test_what_is_not_http_gets_the_envelope_too(self, server: Recall) -> None:
        address = httpx.URL(server.url)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"GET /api/memory HTTP/1.1\r\nno colon\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        assert head.startswith(b"HTTP/1.1 400 ")
        assert set(json.loads(body)["error"]) == {"code", "message", "details"}

    async def test_100_mb_are_413(self, api: httpx.AsyncClient) -> None:
        for path in ("/api/memory", "/api/memory/import", "/mcp"):
            try:
                answer = await api.post(path, content=b"x" * (100 * 2**20))
            except httpx.NetworkError:
                continue  # it was told no while it was still sending
            assert answer.status_code == 413
            if path != "/mcp":
                assert answer.json()["error"]["code"] == "too_large"


class TestOne:
    async def test_unknown_ids_are_404(self, api: httpx.AsyncClient) -> None:
        for name in (str(uuid.uuid4()), "no-uuid", "%00", "{" + str(uuid.uuid4()) + "}"):
            for method in ("GET", "DELETE"):
                answer = await api.request(method, f"/api/memory/{name}")
                assert answer.status_code == 404
                assert answer.json()["error"]["code"] == "not_found"
            answer = await api.put(f"/api/memory/{name}", json={"content": "c"})
            assert answer.status_code == 404

    async def test_put_changes_what_is_given(self, api: httpx.AsyncClient, owner: str) -> None:
        memory = await put(api, owner, "k", metadata={"a": 1}, sessionId="s")
        path = f"/api/memory/{memory['id']}"
        answer = await api.put(path, json={"metadata": {"b": 2}, "type": "procedural"})
        changed = answer.json()["memory"]
        assert changed["metadata"] == {"b": 2}
        assert changed["type"] == "procedural"
        assert changed["sessionId"] == "s"
        assert changed["content"] == memory["content"]
        assert changed["updatedAt"] > memory["updatedAt"]
        assert (await api.put(path, json={"colour": 1})).status_code == 400
        assert (await api.put(path, json={})).status_code == 400

    async def test_a_new_key_moves_it(self, api: httpx.AsyncClient, owner: str) -> None:
        memory = await put(api, owner, "old")
        await put(api, owner, "taken")
        path = f"/api/memory/{memory['id']}"
        conflict = await api.put(path, json={"key": "taken"})
        assert conflict.status_code == 409
        assert conflict.json()["error"]["code"] == "conflict"
        moved = (await api.put(path, json={"key": "new"})).json()["memory"]
        assert moved["id"] == memory_id(owner, "new")
        assert moved["createdAt"] == memory["createdAt"]
        assert (await api.get(path)).status_code == 404
        assert (await listed(api, owner))["total"] == 2

    async def test_delete(self, api: httpx.AsyncClient, owner: str) -> None:
        memory = await put(api, owner, "k")
        assert (await api.delete(f"/api/memory/{memory['id']}")).json() == {"success": True}
        assert (await api.delete(f"/api/memory/{memory['id']}")).status_code == 404
        assert (await listed(api, owner))["total"] == 0


class TestList:
    async def test_pages_give_every_memory_once(self, api: httpx.AsyncClient, owner: str) -> None:
        made = [await put(api, owner, f"k{number}") for number in range(7)]
        seen: list[str] = []
        for page in (1, 2, 3):
            shown = await listed(api, owner, limit=3, page=page)
            assert (shown["page"], shown["limit"]) == (page, 3)
            assert (shown["total"], shown["totalPages"]) == (7, 3)
            seen += [it["id"] for it in shown["data"]]
        assert seen == [it["id"] for it in reversed(made)]
        assert (await listed(api, owner, limit=3, page=4))["data"] == []

    async def test_offset_wins_over_page(self, api: httpx.AsyncClient, owner: str) -> None:
        made = [await put(api, owner, f"k{number}") for number in range(5)]
        shown = await listed(api, owner, limit=2, page=1, offset=3)
        assert [it["id"] for it in shown["data"]] == [made[1]["id"], made[0]["id"]]
        assert shown["page"] == 2

    async def test_filters(self, api: httpx.AsyncClient, owner: str) -> None:
        await put(api, owner, "a", type="episodic", sessionId="s1", content="100% Sure_thing")
        await put(api, owner, "B_key", sessionId="s2", content="other")
        assert [it["key"] for it in (await listed(api, owner, type="episodic"))["data"]] == ["a"]
        assert [it["key"] for it in (await listed(api, owner, sessionId="s2"))["data"]] == ["B_key"]
        for q, keys in [
            ("100% SURE_", ["a"]),
            ("%", ["a"]),
            ("b_K", ["B_key"]),
            ("nothing", []),
        ]:
            shown = await listed(api, owner, q=q)
            assert [it["key"] for it in shown["data"]] == keys
            assert shown["total"] == shown["stats"]["total"] == len(keys)

    async def test_stats(self, api: httpx.AsyncClient, owner: str) -> None:
        await put(api, owner, "a", content="x" * 8)
        await put(api, owner, "b", content="x" * 9, type="semantic")
        stats = (await listed(api, owner))["stats"]
        assert stats == {
            "total": 2,
            "byType": {"factual": 1, "episodic": 0, "procedural": 0, "semantic": 1},
            "tokensUsed": 2 + 3,
            "tokensInjected": 0,
            "hitRate": 0,
            "cacheStats": {"hits": 0, "misses": 0},
            "truncated": False,
        }

    @pytest.mark.parametrize(
        "query",
        [
            "limit=0",
            "limit=201",
            "limit=x",
            "limit=1.5",
            "limit=",
            "page=0",
            "page=-1",
            "offset=-1",
            "type=fact",
            "limit=1&limit=2",
            "q=%00",
            "q=%ff",
            "apiKeyId=a%0Ab",
            "apiKeyId=" + "a" * 201,
        ],
    )
    async def test_anything_malformed_is_400(self, api: httpx.AsyncClient, query: str) -> None:
        assert (await api.get(f"/api/memory?{query}")).status_code == 400

    async def test_without_an_owner_all_are_listed(
        self, api: httpx.AsyncClient, owner: str
    ) -> None:
        one = await put(api, owner, "k")
        two = await put(api, owner + "2", "k")
        shown = (await api.get("/api/memory?limit=200")).json()
        ids = [it["id"] for it in shown["data"]]
        assert {one["id"], two["id"]} <= set(ids)


class TestDeleteMany:
    async def test_by_ids(self, api: httpx.AsyncClient, owner: str) -> None:
        made = [await put(api, owner, f"k{number}") for number in range(3)]
        ids = [made[0]["id"], made[0]["id"], made[1]["id"], str(uuid.uuid4()), "nothing"]
        answer = await api.post("/api/memory/delete", json={"ids": ids})
        assert answer.json() == {"deletedCount": 2}
        assert (await listed(api, owner))["total"] == 1

    async def test_there_may_be_many_unknown_ids(self, api: httpx.AsyncClient, owner: str) -> None:
        for number in range(5):
            await put(api, f"{owner}-{number}", "k")
        ids = [str(uuid.uuid4()) for _ in range(1000)]
        answer = await api.post("/api/memory/delete", json={"ids": ids})
        assert answer.json() == {"deletedCount": 0}

    async def test_rows_that_recall_did_not_write_are_found_by_their_id(
        self, api: httpx.AsyncClient, owner: str, plugin_url: str
    ) -> None:
        await put(api, owner, "k")
        ids = []
        async with MemoryClient(plugin_url, timeout=60) as plugin:
            for content in ("one", "two"):
                write = MemoryWrite(content=content, kind="fact", source="agent")
                ids.append(str((await plugin.write(namespace_of(owner), write)).id))
        shown = (await api.get(f"/api/memory/{ids[0]}")).json()["memory"]
        assert (shown["key"], shown["type"], shown["content"]) == (ids[0], "factual", "one")
        assert (await api.delete(f"/api/memory/{ids[0]}")).json() == {"success": True}
        answer = await api.post("/api/memory/delete", json={"ids": [*ids, str(uuid.uuid4())]})
        assert answer.json() == {"deletedCount": 1}
        assert [it["key"] for it in (await listed(api, owner))["data"]] == ["k"]

    async def test_by_filter(self, api: httpx.AsyncClient, owner: str) -> None:
        await put(api, owner, "a", type="episodic")
        await put(api, owner, "b", sessionId="s")
        border = (await put(api, owner, "c"))["createdAt"]

        async def delete(**conditions: str) -> int:
            body = {"apiKeyId": owner, **conditions}
            answer = await api.post("/api/memory/delete", json=body)
            assert answer.status_code == 200, answer.text
            count: int = answer.json()["deletedCount"]
            return count

        assert await delete(type="semantic") == 0
        assert await delete(sessionId="s") == 1
        assert await delete(olderThan=border) == 1
        assert [it["key"] for it in (await listed(api, owner))["data"]] == ["c"]
        assert await delete() == 1

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"ids": []},
            {"ids": ["a"] * 1001},
            {"ids": [1]},
            {"ids": ["a"], "apiKeyId": "b"},
            {"type": "factual"},
            {"apiKeyId": "a", "olderThan": "yesterday"},
        ],
    )
    async def test_bad_bodies(self, api: httpx.AsyncClient, body: dict[str, Any]) -> None:
        assert (await api.post("/api/memory/delete", json=body)).status_code == 400

    async def test_however_many(self, api: httpx.AsyncClient, owner: str) -> None:
        lines = "\n".join(
            json.dumps({"key": f"k{number}", "content": "c", "type": "episodic"})
            for number in range(1200)
        )
        await api.post(f"/api/memory/import?apiKeyId={owner}", content=lines)
        await put(api, owner, "other")
        body = {"apiKeyId": owner, "type": "episodic"}
        assert (await api.post("/api/memory/delete", json=body)).json() == {"deletedCount": 1200}
        assert (await listed(api, owner))["total"] == 1


class TestRulings:
    async def test_concurrent_upserts_lose_no_metadata(
        self, api: httpx.AsyncClient, owner: str
    ) -> None:
        await asyncio.gather(
            *(put(api, owner, "k", metadata={f"m{number}": number}) for number in range(40))
        )
        [row] = (await listed(api, owner))["data"]
        assert row["metadata"] == {f"m{number}": number for number in range(40)}

    async def test_an_expired_memory_is_gone_from_that_instant(
        self, api: httpx.AsyncClient, owner: str
    ) -> None:
        soon = datetime.now(UTC) + timedelta(seconds=1.5)
        memory = await put(api, owner, "k", expiresAt=soon.isoformat())
        await eventually(lambda: datetime.now(UTC) > soon)
        assert (await api.get(f"/api/memory/{memory['id']}")).status_code == 404
        shown = await listed(api, owner)
        assert (shown["data"], shown["total"], shown["stats"]["tokensUsed"]) == ([], 0, 0)


async def answered(api: httpx.AsyncClient, path: str, field: str) -> Any:
    """The answer once a field of it is true: what it is about may have been late."""
    shown = (await api.get(path)).json()
    return shown if shown[field] else None


class TestHealth:
    async def test_the_round_trip_leaves_nothing_behind(self, api: httpx.AsyncClient) -> None:
        before = (await api.get("/api/memory")).json()["total"]
        health = await eventually(lambda: answered(api, "/api/memory/health", "working"))
        assert health["latencyMs"] >= 0
        assert (await api.get("/api/memory")).json()["total"] == before

    async def test_engine_status(self, api: httpx.AsyncClient) -> None:
        async def reachable() -> Any:
            status = (await api.get("/api/memory/engine-status")).json()
            return status if status["plugin"]["reachable"] else None

        status = await eventually(reachable)
        assert set(status) == {"plugin", "keyword", "embedding", "vectorStore", "degraded"}
        assert status["degraded"] == []

    async def test_health_needs_no_token(self, server: Recall) -> None:
        async def is_well() -> bool:
            shown = (await client.get("/health")).json()
            assert set(shown) == {"status", "plugin", "database"}
            return set(shown.values()) == {"ok"}

        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            await eventually(is_well)


async def test_extract_preview(api: httpx.AsyncClient) -> None:
    answer = await api.post("/api/memory/extract-preview", json={"text": "I prefer dark mode."})
    [fact] = answer.json()["facts"]
    assert fact == {
        "key": "preference:dark_mode",
        "content": "I prefer dark mode",
        "type": "factual",
        "category": "preference",
        "polarity": "positive",
        "speaker": "user",
    }


async def test_extract_preview_finds_nothing_in_a_memory_block(api: httpx.AsyncClient) -> None:
    block = format_memory_context([{"content": "I prefer dark mode"}])
    text = f"{block}\n\nI like tea."
    answer = await api.post("/api/memory/extract-preview", json={"text": text})
    assert [fact["content"] for fact in answer.json()["facts"]] == ["I like tea"]
