"""Metadata at the edge of what a plugin can hold: it comes back as it was, or is refused."""

import json
from typing import Any

import httpx
import pytest

from recall.memory import MAX_METADATA_DEPTH, memory_id
from tests.integration.recall.server import Recall
from tests.integration.recall.test_mcp import call, over_http
from tests.integration.recall.test_rest import listed, put

pytestmark = pytest.mark.anyio

NUMBERS = {
    "large": [2**63, 2**64 - 1, 2**64, 10**30, int("9" * 4300)],
    "small": [-(2**63), -(2**63) - 1, -(10**30)],
    "others": [0, 1.0, 1e300, 0.1],
}


def nested(depth: int, kind: type = dict) -> dict[str, Any]:
    """Metadata with this many levels."""
    value: Any = 1
    for _ in range(depth - 1):
        value = {"a": value} if kind is dict else [value]
    return {"a": value}


class TestDepth:
    @pytest.mark.parametrize("kind", [dict, list])
    async def test_what_the_plugin_can_hold_comes_back(
        self, api: httpx.AsyncClient, owner: str, kind: type
    ) -> None:
        deepest = nested(MAX_METADATA_DEPTH, kind)
        made = await put(api, owner, "deep", metadata=deepest)
        shown = (await api.get(f"/api/memory/{made['id']}")).json()
        assert shown["memory"]["metadata"] == deepest

    @pytest.mark.parametrize("kind", [dict, list])
    @pytest.mark.parametrize("more", [1, 2])
    async def test_one_level_more_is_refused_by_name(
        self, api: httpx.AsyncClient, owner: str, kind: type, more: int
    ) -> None:
        too_deep = nested(MAX_METADATA_DEPTH + more, kind)
        made = await put(api, owner, "deep", metadata={"a": 1})
        body = {"apiKeyId": owner, "key": "other", "content": "c", "metadata": too_deep}
        for answer in (
            await api.post("/api/memory", json=body),
            await api.put(f"/api/memory/{made['id']}", json={"metadata": too_deep}),
        ):
            assert answer.status_code == 400
            [detail] = answer.json()["error"]["details"]
            assert detail["field"] == "metadata"
        assert [it["metadata"] for it in (await listed(api, owner))["data"]] == [{"a": 1}]

    async def test_such_a_line_does_not_stop_an_import(
        self, api: httpx.AsyncClient, owner: str
    ) -> None:
        lines = [
            {"key": "a", "content": "one"},
            {"key": "b", "content": "two", "metadata": nested(MAX_METADATA_DEPTH + 1)},
            {"key": "c", "content": "three"},
        ]
        body = "\n".join(json.dumps(line) for line in lines)
        answer = await api.post(f"/api/memory/import?apiKeyId={owner}", content=body)
        assert answer.status_code == 200
        assert answer.json()["imported"] == 2
        assert [error["line"] for error in answer.json()["errors"]] == [2]

    async def test_a_tool_says_which_argument_is_wrong(self, server: Recall, owner: str) -> None:
        metadata = nested(MAX_METADATA_DEPTH + 1)
        async with over_http(server, owner) as client:
            arguments = {"type": "factual", "key": "k", "content": "c", "metadata": metadata}
            result = await client.call_tool("memory_add", arguments)
        assert result.is_error
        assert result.structured_content["error"]["details"][0]["field"] == "metadata"


class TestNumbers:
    async def test_of_any_size_come_back_as_they_were(
        self, api: httpx.AsyncClient, owner: str
    ) -> None:
        made = await put(api, owner, "sum", metadata=NUMBERS)
        await put(api, owner, "later")
        assert made["metadata"] == NUMBERS
        shown = (await api.get(f"/api/memory/{made['id']}")).json()["memory"]
        [_, in_list] = (await listed(api, owner))["data"]
        exported = await api.get(f"/api/memory/export?apiKeyId={owner}")
        first, second = [json.loads(line) for line in exported.text.splitlines()]
        assert second["key"] == "later"
        for one in (shown, in_list, first):
            assert one["metadata"] == NUMBERS
        await api.delete(f"/api/memory/{made['id']}")
        await api.post("/api/memory/import", content=exported.content)
        again = (await api.get(f"/api/memory/{made['id']}")).json()["memory"]
        assert again["metadata"] == NUMBERS

    async def test_as_well_by_the_tools(self, server: Recall, owner: str) -> None:
        async with over_http(server, owner) as client:
            added = await call(
                client, "memory_add", type="factual", key="sum", content="tea", metadata=NUMBERS
            )
            found = await call(client, "memory_search", query="tea")
            newest = await call(client, "memory_search")
        assert added["memory"]["metadata"] == NUMBERS
        assert [it["metadata"] for it in found["memories"]] == [NUMBERS]
        assert [it["metadata"] for it in newest["memories"]] == [NUMBERS]
        assert added["memory"]["id"] == memory_id(owner, "sum")
