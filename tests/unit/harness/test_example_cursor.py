"""The in-memory example: which listing a cursor belongs to."""

from typing import Any

import httpx
import pytest

from harness.example import create_app

pytestmark = pytest.mark.anyio
NAME = "team:cursors"
PATH = "/v1/memories/list"


@pytest.fixture
async def plugin() -> Any:
    transport = httpx.ASGITransport(app=create_app())
    async with httpx.AsyncClient(transport=transport, base_url="http://plugin") as client:
        await client.put(f"/v1/namespaces/{NAME}", json={"kind": "team"})
        memory = {"content": "tea", "kind": "fact", "source": "user"}
        for _ in range(3):
            body = {**memory, "propagation": {"size": 1, "color": "red"}}
            await client.post(f"/v1/namespaces/{NAME}/memories", json=body)
        yield client


async def cursor(plugin: httpx.AsyncClient, **filters: Any) -> str:
    page = await plugin.post(PATH, json={"namespaces": [NAME], "limit": 1, **filters})
    text: str = page.json()["next_cursor"]
    return text


async def status(plugin: httpx.AsyncClient, **body: Any) -> int:
    return (await plugin.post(PATH, json={"namespaces": [NAME], **body})).status_code


async def test_a_cursor_fits_the_same_filter_written_in_another_way(
    plugin: httpx.AsyncClient,
) -> None:
    text = await cursor(plugin, where={"size": 1, "color": "red"})
    assert await status(plugin, where={"color": "red", "size": 1.0}, cursor=text) == 200
    assert await status(plugin, where={"color": "red", "size": True}, cursor=text) == 400
    text = await cursor(plugin, created_after="2020-01-01T00:00:00Z")
    assert await status(plugin, created_after="2020-01-01T01:00:00+01:00", cursor=text) == 200


@pytest.mark.parametrize("added", ["A", "AA", "=", "!", " ", "\n"])
async def test_a_cursor_with_anything_added_is_refused(
    plugin: httpx.AsyncClient, added: str
) -> None:
    text = await cursor(plugin)
    assert await status(plugin, cursor=text) == 200
    assert await status(plugin, cursor=text + added) == 400
