"""The REST API about many memories at once: export and import."""

import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.integration.recall.test_rest import listed, put

pytestmark = pytest.mark.anyio


class TestExportImport:
    async def test_what_is_exported_comes_back(self, api: httpx.AsyncClient, owner: str) -> None:
        later = (datetime.now(UTC) + timedelta(days=1)).isoformat().replace("+00:00", "Z")
        await put(api, owner, "a", type="episodic", sessionId="s", metadata={"m": 1})
        await put(api, owner, "b", expiresAt=later, content="line\nline")
        exported = await api.get(f"/api/memory/export?apiKeyId={owner}")
        assert exported.headers["content-type"].startswith("application/x-ndjson")
        rows = [json.loads(line) for line in exported.text.splitlines()]
        assert [row["key"] for row in rows] == ["a", "b"]
        await api.post("/api/memory/delete", json={"apiKeyId": owner})
        result = (await api.post("/api/memory/import", content=exported.content)).json()
        assert result == {"imported": 2, "updated": 0, "skipped": 0, "errors": []}
        again = await api.get(f"/api/memory/export?apiKeyId={owner}")
        assert [json.loads(line) for line in again.text.splitlines()] == rows
        elsewhere = f"/api/memory/import?apiKeyId={owner}-2"
        assert (await api.post(elsewhere, json=rows)).json()["imported"] == 2
        assert (await listed(api, f"{owner}-2"))["total"] == 2

    async def test_a_file_may_begin_with_a_byte_order_mark(
        self, api: httpx.AsyncClient, owner: str
    ) -> None:
        path = f"/api/memory/import?apiKeyId={owner}"
        for body in (b'{"key":"a","content":"one"}', b'[{"key":"b","content":"two"}]'):
            result = (await api.post(path, content=b"\xef\xbb\xbf" + body)).json()
            assert (result["imported"], result["errors"]) == (1, [])

    async def test_a_bad_line_does_not_stop_the_rest(
        self, api: httpx.AsyncClient, owner: str
    ) -> None:
        past = "2020-01-01T00:00:00Z"
        lines = [
            b'{"key":"a","content":"one"}',
            b"not json",
            b"",
            b'{"key":"b"}',
            b'{"key":"c","content":"old","expiresAt":"%s"}' % past.encode(),
            b'{"key":"d","content":"two","createdAt":"2024-05-06T07:08:09Z"}',
        ]
        path = f"/api/memory/import?apiKeyId={owner}"
        result = (await api.post(path, content=b"\n".join(lines))).json()
        assert (result["imported"], result["skipped"]) == (2, 1)
        assert [error["line"] for error in result["errors"]] == [2, 4]
        newest, oldest = (await listed(api, owner))["data"]
        assert (newest["key"], oldest["key"]) == ("a", "d")
        assert oldest["createdAt"] == "2024-05-06T07:08:09Z"

    async def test_the_querys_owner_replaces_any_other(
        self, api: httpx.AsyncClient, owner: str
    ) -> None:
        lines = [
            {"key": f"k{number}", "content": "x", "apiKeyId": other}
            for number, other in enumerate(("ada", None, 42, "a" * 201))
        ]
        answer = await api.post(f"/api/memory/import?apiKeyId={owner}", json=lines)
        assert answer.json() == {"imported": 4, "updated": 0, "skipped": 0, "errors": []}
        shown = await api.get("/api/memory", params={"apiKeyId": owner})
        assert shown.json()["total"] == 4

    async def test_the_first_line_may_be_a_bad_one_too(
        self, api: httpx.AsyncClient, owner: str
    ) -> None:
        path = f"/api/memory/import?apiKeyId={owner}"
        for first in (b"[1]", b"[]", b"not json"):
            lines = first + b'\n{"key":"a","content":"one"}'
            result = (await api.post(path, content=lines)).json()
            assert result["imported"] + result["updated"] == 1
            assert [error["line"] for error in result["errors"]] == [1]
        broken = await api.post(path, content=b'[{"key":"a","content":"one"},')
        assert broken.status_code == 400

    @pytest.mark.parametrize(
        ("rule", "content", "metadata", "counts"),
        [
            ("merge", "new", {"a": 1, "b": 2}, ("updated", 1)),
            ("replace", "new", {"b": 2}, ("updated", 1)),
            ("skip", "content of k", {"a": 1}, ("skipped", 1)),
        ],
    )
    async def test_on_conflict(
        self,
        api: httpx.AsyncClient,
        owner: str,
        rule: str,
        content: str,
        metadata: dict[str, int],
        counts: tuple[str, int],
    ) -> None:
        await put(api, owner, "k", metadata={"a": 1})
        line = {"key": "k", "content": "new", "metadata": {"b": 2}}
        path = f"/api/memory/import?apiKeyId={owner}&onConflict={rule}"
        result = (await api.post(path, json=[line])).json()
        assert result[counts[0]] == counts[1]
        [row] = (await listed(api, owner))["data"]
        assert (row["content"], row["metadata"]) == (content, metadata)

    async def test_a_bad_rule_is_400(self, api: httpx.AsyncClient) -> None:
        assert (await api.post("/api/memory/import?onConflict=x", json=[])).status_code == 400
