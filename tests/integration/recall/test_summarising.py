"""Summaries by age and by budget, and the way back."""

from typing import Any

import httpx
import pytest

from tests.integration.recall.test_conversations import facts

pytestmark = pytest.mark.anyio


class TestSummaries:
    LONG = "One sentence. Two sentences. Three sentences. Four is too many. Five is more."

    async def test_by_age_and_back(self, api: httpx.AsyncClient, owner: str) -> None:
        old = "2024-01-01T00:00:00Z"
        rows = [
            {
                "key": "a",
                "content": self.LONG,
                "createdAt": old,
                "updatedAt": old,
                "type": "episodic",
            },
            {
                "key": "b",
                "content": "Short.",
                "createdAt": old,
                "updatedAt": old,
                "metadata": {"m": 1},
            },
            {"key": "new", "content": "Fresh."},
        ]
        await api.post(f"/api/memory/import?apiKeyId={owner}", json=rows)
        before = await facts(api, owner)
        body = {"apiKeyId": owner, "olderThanDays": 30}
        dry = (await api.post("/api/memory/summarize", json={**body, "dryRun": True})).json()
        assert (dry["runId"], dry["originalCount"], dry["dryRun"]) == (None, 2, True)
        assert {it["key"] for it in dry["candidates"]} == {"a", "b"}
        assert await facts(api, owner) == before
        done = (await api.post("/api/memory/summarize", json=body)).json()
        assert (done["originalCount"], done["deletedCount"]) == (2, 2)
        rows_after = {row["key"]: row for row in await facts(api, owner)}
        summary = rows_after[f"summary:{done['runId']}"]
        assert summary["id"] == done["summaryId"]
        assert summary["type"] == "semantic"
        assert set(summary["content"].splitlines()) == {
            "[episodic] a: One sentence. Two sentences. Three sentences.",
            "[factual] b: Short.",
        }
        assert set(rows_after) == {summary["key"], "new"}
        runs = (await api.get("/api/memory/runs", params={"apiKeyId": owner})).json()["runs"]
        assert [(run["runId"], run["count"]) for run in runs] == [(done["runId"], 2)]
        restored = await api.post("/api/memory/restore", json={"runId": done["runId"]})
        assert restored.json() == {"restoredCount": 2, "skipped": []}
        assert await facts(api, owner) == before
        again = await api.post("/api/memory/restore", json={"runId": done["runId"]})
        assert again.status_code == 404

    async def test_a_summary_is_never_longer_than_a_memory_may_be(
        self, api: httpx.AsyncClient, owner: str
    ) -> None:
        old = "2024-01-01T00:00:00Z"
        rows = [
            {"key": f"k{number}", "content": "x" * 45_000, "createdAt": old, "updatedAt": old}
            for number in range(5)
        ]
        rows.append({"key": "too long", "content": "x" * 100_000, "createdAt": old})
        await api.post(f"/api/memory/import?apiKeyId={owner}", json=rows)
        before = await facts(api, owner)
        body = {"apiKeyId": owner, "olderThanDays": 30}
        runs = []
        for count in (2, 2, 1, 0):
            dry = (await api.post("/api/memory/summarize", json={**body, "dryRun": True})).json()
            done = (await api.post("/api/memory/summarize", json=body)).json()
            assert dry["originalCount"] == done["originalCount"] == done["deletedCount"] == count
            runs.append(done["runId"])
        after = await facts(api, owner)
        assert len(after) == 4  # three summaries, and what does not fit into one
        assert all(len(row["content"]) <= 100_000 for row in after)
        for run in runs[:3]:
            await api.post("/api/memory/restore", json={"runId": run})
        assert await facts(api, owner) == before

    async def test_by_budget_and_back(self, api: httpx.AsyncClient, owner: str) -> None:
        for key, content in [("long", self.LONG), ("short", "One. Two."), ("newest", "x" * 40)]:
            await api.post("/api/memory", json={"apiKeyId": owner, "key": key, "content": content})
        before = await facts(api, owner)
        body = {"apiKeyId": owner, "maxTokens": 10}
        done = (await api.post("/api/memory/summarize", json=body)).json()
        assert done["summarizedCount"] == 1
        assert done["tokensSaved"] > 0
        assert [it["key"] for it in done["candidates"]] == ["long"]
        rows = {row["key"]: row["content"] for row in await facts(api, owner)}
        assert rows["long"] == "One sentence. Two sentences. Three sentences."
        restored = await api.post("/api/memory/restore", json={"runId": done["runId"]})
        assert restored.json()["restoredCount"] == 1
        assert await facts(api, owner) == before

    async def test_what_was_changed_since_is_skipped(
        self, api: httpx.AsyncClient, owner: str
    ) -> None:
        made = {"apiKeyId": owner, "key": "k", "content": self.LONG}
        await api.post("/api/memory", json=made)
        body = {"apiKeyId": owner, "maxTokens": 1}
        done = (await api.post("/api/memory/summarize", json=body)).json()
        changed = (await api.post("/api/memory", json=made | {"content": "Mine."})).json()
        restored = await api.post("/api/memory/restore", json={"runId": done["runId"]})
        assert restored.json() == {"restoredCount": 0, "skipped": [changed["id"]]}
        [row] = await facts(api, owner)
        assert row["content"] == "Mine."

    @pytest.mark.parametrize(
        "body",
        [
            {"olderThanDays": 0},
            {"olderThanDays": 366},
            {"maxTokens": 0},
            {"maxTokens": 1, "olderThanDays": 1},
            {"dryRun": "yes"},
            {"colour": 1},
        ],
    )
    async def test_bad_bodies(self, api: httpx.AsyncClient, body: dict[str, Any]) -> None:
        assert (await api.post("/api/memory/summarize", json=body)).status_code == 400

    @pytest.mark.parametrize("run", ["nothing", "6a2f4b1e-0000-4000-8000-000000000000"])
    async def test_an_unknown_run_is_404(self, api: httpx.AsyncClient, run: str) -> None:
        assert (await api.post("/api/memory/restore", json={"runId": run})).status_code == 404
