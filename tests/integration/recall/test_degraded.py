"""On a plugin that lacks extensions or capabilities recall still works, and says what it cannot."""

from collections.abc import Iterator

import httpx
import pytest

from tests.conftest import database_url, execute
from tests.integration.recall.server import MANAGEMENT, be_patient, example_plugin, recall
from tests.integration.recall.upstream import Model
from tests.waiting import until

BARE = ("batch", "list", "filter", "browse", "get", "fts", "embedding", "ttl", "pin")


@pytest.fixture(scope="module", params=["bare", "list only", "no extension"])
def bare(request: pytest.FixtureRequest, cluster: str, _model: Model) -> Iterator[httpx.Client]:
    name = f"degraded_{request.param.replace(' ', '_')}"
    execute(cluster, f'DROP DATABASE IF EXISTS "{name}"', f'CREATE DATABASE "{name}"')
    without = {
        "bare": BARE,
        "list only": ("filter", "browse", "get", "batch"),
        "no extension": ("batch", "list", "filter", "browse", "get"),
    }[request.param]
    with example_plugin(*without) as url:
        flags = ["--database-url", database_url(cluster, name), "--plugin-url", url]
        with (
            recall(*flags, "--upstream-url", _model.url, "--dev-auth") as server,
            httpx.Client(base_url=server.url, headers=MANAGEMENT, timeout=60) as client,
        ):
            be_patient(server)
            yield client


def put(client: httpx.Client, owner: str, key: str, **more: object) -> dict[str, object]:
    body = {"apiKeyId": owner, "key": key, "content": f"about {key}"} | more
    answer = client.post("/api/memory", json=body)
    assert answer.status_code == 200, answer.text
    made: dict[str, object] = answer.json()["memory"]
    return made


def test_it_says_what_is_degraded(bare: httpx.Client) -> None:
    status = bare.get("/api/memory/engine-status").json()
    features = {one["feature"] for one in status["degraded"]}
    assert {"filter", "browse", "get"} <= features
    assert all(one["effect"] for one in status["degraded"])
    assert bare.get("/api/memory/health").json()["working"] is True


def test_memories_are_written_listed_filtered_changed_and_deleted(
    bare: httpx.Client, owner: str
) -> None:
    first = put(bare, owner, "a", type="episodic", sessionId="s", metadata={"m": 1})
    put(bare, owner, "b")
    merged = put(bare, owner, "a", content="new", metadata={"n": 2})
    assert merged["metadata"] == {"m": 1, "n": 2}
    assert merged["createdAt"] == first["createdAt"]
    shown = bare.get("/api/memory", params={"apiKeyId": owner, "limit": 1}).json()
    assert (shown["total"], shown["totalPages"]) == (2, 2)
    assert [row["key"] for row in shown["data"]] == ["b"]
    for query, keys in [
        ({"type": "episodic"}, ["a"]),
        ({"sessionId": "s"}, ["a"]),
        ({"q": "ABOUT"}, ["b"]),
    ]:
        shown = bare.get("/api/memory", params={"apiKeyId": owner, **query}).json()
        assert [row["key"] for row in shown["data"]] == keys
        assert shown["stats"]["total"] == 1
    moved = bare.put(f"/api/memory/{first['id']}", json={"key": "c"}).json()["memory"]
    assert moved["createdAt"] == first["createdAt"]
    assert bare.get(f"/api/memory/{first['id']}").status_code == 404
    assert bare.delete(f"/api/memory/{moved['id']}").json() == {"success": True}
    body = {"apiKeyId": owner, "type": "factual"}
    assert bare.post("/api/memory/delete", json=body).json() == {"deletedCount": 1}
    assert bare.get("/api/memory", params={"apiKeyId": owner}).json()["total"] == 0


def test_a_deletion_reaches_all_that_match_however_many(bare: httpx.Client, owner: str) -> None:
    # A search shows the newest 100, and the others lie behind them.
    lines = [
        {
            "key": f"k{number}",
            "content": f"{number}",
            "type": "episodic" if number < 5 else "factual",
        }
        for number in range(106)
    ]
    imported = bare.post(f"/api/memory/import?apiKeyId={owner}", json=lines).json()
    assert imported["imported"] == 106
    answer = bare.post("/api/memory/delete", json={"apiKeyId": owner, "type": "episodic"})
    assert answer.json() == {"deletedCount": 5}
    answer = bare.post("/api/memory/delete", json={"apiKeyId": owner})
    assert answer.json() == {"deletedCount": 101}
    assert bare.get("/api/memory", params={"apiKeyId": owner}).json()["total"] == 0


def test_memories_are_recalled(bare: httpx.Client, owner: str, model: Model) -> None:
    put(bare, owner, "k", content="I like green tea", sessionId="s")
    answer = bare.post(
        "/v1/chat/completions",
        json={"messages": [{"role": "user", "content": "Which tea?"}]},
        headers={"authorization": f"Bearer {owner}"},
    )
    assert answer.headers["x-memory-injected"] == "1"
    assert "green tea" in model.last.body.decode()


def test_summaries_can_be_undone(bare: httpx.Client, owner: str) -> None:
    put(bare, owner, "k", content="One. Two. Three. Four. Five.")
    body = {"apiKeyId": owner, "maxTokens": 1}
    run = bare.post("/api/memory/summarize", json=body).json()
    [row] = bare.get("/api/memory", params={"apiKeyId": owner}).json()["data"]
    assert row["content"] == "One. Two. Three."
    bare.post("/api/memory/restore", json={"runId": run["runId"]})
    [row] = bare.get("/api/memory", params={"apiKeyId": owner}).json()["data"]
    assert row["content"] == "One. Two. Three. Four. Five."


def test_no_original_is_lost_in_a_long_archive(bare: httpx.Client, owner: str) -> None:
    runs = []
    for name in "abc":
        lines = [
            {"key": f"{name}{number}", "content": "x", "updatedAt": "2020-01-01T00:00:00Z"}
            for number in range(60)
        ]
        imported = bare.post("/api/memory/import", params={"apiKeyId": owner}, json=lines).json()
        assert imported["imported"] == 60, imported
        body = {"apiKeyId": owner, "olderThanDays": 30}
        runs.append(bare.post("/api/memory/summarize", json=body).json()["runId"])
    restored, skipped = 0, []
    # A plugin that cannot list shows the newest of the archive only, so that at first nothing is
    # left to be seen of the first run.
    for run in [*runs, runs[0]]:
        answer = bare.post("/api/memory/restore", json={"runId": run}).json()
        restored += answer.get("restoredCount", 0)
        skipped += answer.get("skipped", [])
    assert (restored, skipped) == (180, [])
    assert bare.get("/api/memory/runs", params={"apiKeyId": owner}).json() == {"runs": []}


def test_a_plugin_that_comes_late_is_used_when_it_is_there(
    cluster: str, model: Model, owner: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    name = f"coming_{owner[-8:]}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    socket = tmp_path_factory.mktemp("s") / "p.sock"
    flags = ["--database-url", database_url(cluster, name), "--plugin-url", f"unix:{socket}"]
    ask = {"messages": [{"role": "user", "content": "What do I like?"}]}
    key = {"authorization": f"Bearer {owner}"}
    with (
        recall(*flags, "--upstream-url", model.url, "--dev-auth") as server,
        httpx.Client(base_url=server.url, headers=MANAGEMENT, timeout=60) as client,
    ):
        be_patient(server)
        assert client.get("/health").json()["status"] == "degraded"
        answer = client.post("/v1/chat/completions", json=ask, headers=key)
        assert answer.status_code == 200
        assert answer.headers["x-memory-error"] == "plugin"
        assert answer.headers["x-memory-injected"] == "0"
        refused = client.get("/api/memory")
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "unavailable"
        assert refused.headers["retry-after"]
        assert client.get("/api/memory/health").json()["working"] is False
        status = client.get("/api/memory/engine-status").json()
        assert status["plugin"]["reachable"] is False
        assert status["degraded"]
        assert client.get("/dashboard/memory").status_code == 200

        def recalls() -> bool:
            answer = client.post("/v1/chat/completions", json=ask, headers=key)
            return "x-memory-error" not in answer.headers

        with example_plugin(listen=f"unix:{socket}"):
            until(lambda: client.get("/health").json()["status"] == "ok")
            until(recalls)
