"""The extension `filter`: memories match by fields and time, before anything is ranked."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from contract import SearchRequest
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

HOME = "workspace:filter"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODES: list[dict[str, object]] = [
    {},
    {"query": "word"},
    {"embedding": [1.0, 0.0]},
    {"query": "word", "embedding": [1.0, 0.0]},
]
MODE_NAMES = ["newest", "text", "embedding", "hybrid"]
FIELDS: list[dict[str, Any] | None] = [
    {"user": "ann", "turn": 1, "done": True},
    {"user": "bob", "turn": 1.0, "done": False},
    {"user": "ann", "turn": "1", "done": 1},
    {"user": ["ann"], "turn": {"n": 1}, "done": None},
    None,
]


async def write(http: httpx.AsyncClient, content: str, place: int, **fields: Any) -> None:
    body = {
        "namespace": HOME,
        "content": content,
        "kind": "fact",
        "source": "agent",
        "embedding": [1.0, place / 1000],
        "created_at": (NOON + timedelta(minutes=place)).isoformat(),
        **fields,
    }
    answer = await http.post("/v1/memories/batch", json={"writes": [body]})
    assert "error" not in answer.json()["results"][0]


@pytest.fixture
async def http(migrated: str) -> AsyncIterator[httpx.AsyncClient]:
    async with plugin.http(migrated) as http:
        await http.put(f"/v1/namespaces/{HOME}", json={"kind": "workspace"})
        for place, propagation in enumerate(FIELDS):
            await write(http, f"word {place}", place, propagation=propagation)
        yield http


async def find(http: httpx.AsyncClient, **fields: Any) -> set[str]:
    """The places of what a search finds; a listing and a count find the same."""
    body = {"namespaces": [HOME], **fields}
    answer = await http.post("/v1/search", json=body)
    assert answer.status_code == 200, answer.text
    found = {memory["content"].removeprefix("word ") for memory in answer.json()["memories"]}
    same = {k: v for k, v in body.items() if k not in ("query", "embedding", "limit")}
    for order in ("id", "newest"):
        page = await http.post("/v1/memories/list", json={**same, "order": order})
        assert {m["content"].removeprefix("word ") for m in page.json()["memories"]} == found
    assert (await http.post("/v1/memories/count", json=same)).json() == {"count": len(found)}
    return found


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        pytest.param({"user": "ann"}, "02", id="string"),
        pytest.param({"turn": 1}, "01", id="integer"),
        pytest.param({"turn": 1.0}, "01", id="fraction"),
        pytest.param({"turn": "1"}, "2", id="string-that-looks-like-a-number"),
        pytest.param({"done": True}, "0", id="true-is-not-1"),
        pytest.param({"done": 1}, "2", id="1-is-not-true"),
        pytest.param({"done": False}, "1", id="false"),
        pytest.param({"user": "ann", "turn": 1, "done": True}, "0", id="every-pair"),
        pytest.param({"user": "ann", "turn": 2}, "", id="one-pair-differs"),
        pytest.param({"user": "Ann"}, "", id="case"),
        pytest.param({"nobody": "ann"}, "", id="unknown-field"),
        pytest.param({"n": 1}, "", id="nested-field"),
    ],
)
async def test_a_memory_matches_by_type_and_value(
    http: httpx.AsyncClient, where: dict[str, Any], expected: str
) -> None:
    for mode in MODES:
        assert await find(http, where=where, **mode) == set(expected)


@pytest.mark.parametrize("mode", MODES, ids=MODE_NAMES)
async def test_a_span_begins_with_its_start_and_ends_before_its_end(
    http: httpx.AsyncClient, mode: dict[str, object]
) -> None:
    times = [(NOON + timedelta(minutes=n)).isoformat() for n in range(6)]
    assert await find(http, created_after=times[1], created_before=times[3], **mode) == {"1", "2"}
    assert await find(http, created_after=times[4], **mode) == {"4"}
    assert await find(http, created_before=times[1], **mode) == {"0"}
    assert await find(http, created_after=times[3], created_before=times[3], **mode) == set()
    assert await find(http, created_after=times[4], created_before=times[1], **mode) == set()
    assert await find(http, created_after=times[1], where={"user": "ann"}, **mode) == {"2"}
    other_offset = (NOON + timedelta(minutes=4)).astimezone().isoformat()
    assert await find(http, created_after=other_offset, **mode) == {"4"}


async def test_names_and_values_may_be_any_text(http: httpx.AsyncClient) -> None:
    odd = {"a'b\\c:*": "x' | y", "ключ": "значение 🚀", " ": "", "@.pin": "@"}
    await write(http, "word odd", 9, propagation=odd)
    for name, value in odd.items():
        assert await find(http, where={name: value}) == {"odd"}
        assert await find(http, where={name: value}, query="word") == {"odd"}


async def test_a_memory_with_very_many_fields_is_found_by_any_of_them(
    http: httpx.AsyncClient,
) -> None:
    await write(http, "word many", 9, propagation={f"f{n}": n for n in range(500)})
    for where in ({"f0": 0}, {"f499": 499}, {"f7": 7, "f70": 70}):
        assert await find(http, where=where, query="word") == {"many"}
        assert await find(http, where=where) == {"many"}
    assert await find(http, where={"f7": 8}, query="word") == set()


async def test_numbers_of_any_size_are_compared_exactly(http: httpx.AsyncClient) -> None:
    await write(http, "word large", 9, propagation={"n": 2**64 + 1, "f": 1e22, "small": 1e-9})
    assert await find(http, where={"n": 2**64 + 1}) == {"large"}
    assert await find(http, where={"n": 2**64}) == set()
    assert await find(http, where={"f": 10**22}) == {"large"}
    assert await find(http, where={"small": 0.000000001}, query="word") == {"large"}


@pytest.mark.parametrize("mode", MODES, ids=MODE_NAMES)
async def test_the_best_of_what_matches_is_found_among_many_that_do_not(
    migrated: str, mode: dict[str, object]
) -> None:
    """Rows that match are the oldest, the farthest and the worst of thousands."""
    async with plugin.pool_connection(migrated) as connection:
        await connection.execute(
            "INSERT INTO memory_namespaces (name, kind) VALUES ($1, 'workspace')", HOME
        )
        await connection.execute(
            "INSERT INTO memory_records"
            " (namespace, content, kind, source, created_at, propagation, embedding)"
            " SELECT $1, concat('word ', n, CASE WHEN n % 1000 = 0 THEN ' and other words' END),"
            " 'fact', 'agent', now() - n * interval '1 minute',"
            " jsonb_build_object('rare', n % 1000 = 0, 'n', n),"
            " CASE WHEN n % 1000 = 0 THEN '[-1,0.1]' ELSE '[1,0]' END::vector"
            " FROM generate_series(1, 5000) AS n",
            HOME,
        )
    async with plugin.memory_client(migrated) as client:
        request = SearchRequest.model_validate(
            {"namespaces": [HOME], "where": {"rare": True}, "limit": 3, **mode}
        )
        found = [m.content.split()[1] for m in (await client.search(request)).memories]
        assert found == ["1000", "2000", "3000"]
        one = SearchRequest.model_validate(
            {"namespaces": [HOME], "where": {"n": 4321, "rare": False}, **mode}
        )
        assert [m.content for m in (await client.search(one)).memories] == ["word 4321"]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"where": {}}, "where"),
        ({"where": {f"f{n}": n for n in range(9)}}, "where"),
        ({"where": {"a": None}}, "where"),
        ({"where": {"a": [1]}}, "where"),
        ({"where": {"a": {"b": 1}}}, "where"),
        ({"where": {"": 1}}, "where"),
        ({"where": {"n" * 65: 1}}, "where"),
        ({"where": {"a": "x" * 513}}, "where"),
        ({"where": {"a": "x\0"}}, "where"),
        ({"where": []}, "where"),
        ({"created_after": "2026-01-01T00:00:00"}, "created_after"),
        ({"created_before": "yesterday"}, "created_before"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/search", "/v1/memories/list", "/v1/memories/count"])
async def test_a_filter_that_is_not_one_is_refused(
    http: httpx.AsyncClient, path: str, fields: dict[str, Any], named: str
) -> None:
    answer = await http.post(path, json={"namespaces": [HOME], **fields})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert named in answer.json()["message"]


async def test_the_client_finds_the_extensions(migrated: str) -> None:
    async with plugin.memory_client(migrated) as client:
        health = await client.health()
        assert {"filter", "browse", "get"} <= set(health.extensions or ())


async def test_pins_come_first_among_what_matches(http: httpx.AsyncClient, migrated: str) -> None:
    await write(http, "word pinned ann", -9, propagation={"user": "ann"}, pin=True)
    await write(http, "word pinned bob", -9, propagation={"user": "bob"}, pin=True)
    async with plugin.memory_client(migrated) as client:
        for mode in MODES:
            request = SearchRequest.model_validate(
                {"namespaces": [HOME], "where": {"user": "ann"}, **mode}
            )
            found = [memory.content for memory in (await client.search(request)).memories]
            assert found[0] == "word pinned ann"
            assert sorted(found[1:]) == ["word 0", "word 2"]


async def test_a_memory_is_found_by_its_new_fields_only_after_it_was_replaced(
    http: httpx.AsyncClient,
) -> None:
    key = "018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11"
    await write(http, "word new", 7, id=key, propagation={"state": "open"})
    await write(http, "word new", 7, id=key, propagation={"state": "done"})
    assert await find(http, where={"state": "open"}) == set()
    assert await find(http, where={"state": "done"}, query="new") == {"new"}


@pytest.mark.parametrize(
    ("matches", "limit"),
    [
        pytest.param("n % 2 = 0", 20, id="enough among the newest"),
        pytest.param("n = 2500", 20, id="one, and an old one"),
        pytest.param("n % 30 = 0", 20, id="enough among more of the newest"),
        pytest.param("n % 60 = 0", 60, id="not enough among more of the newest"),
        pytest.param("n > 1200", 20, id="many, and none of the newest"),
        pytest.param("n > 2000 - 10", 20, id="many, and all of them old"),
        pytest.param("n > 3500", 20, id="none"),
    ],
)
async def test_newest_first_finds_what_matches_wherever_it_is(
    migrated: str, matches: str, limit: int
) -> None:
    rows = f"""
        INSERT INTO memory_namespaces (name, kind) VALUES ('{HOME}', 'workspace');
        INSERT INTO memory_records (namespace, content, kind, source, created_at, pin, propagation)
        SELECT
            '{HOME}', n::text, 'fact', 'agent', now() - n * interval '1 minute', n % 1000 = 0,
            jsonb_build_object('wanted', {matches})
        FROM generate_series(1, 3200) AS n
    """
    expected = f"""
        SELECT n::text AS content FROM generate_series(1, 3200) AS n
        WHERE {matches} ORDER BY n % 1000 = 0 DESC, n LIMIT {limit}
    """
    async with plugin.pool_connection(migrated) as connection:
        await connection.execute(rows)
        wanted = [row[0] for row in await connection.fetch(expected)]
    request = SearchRequest(namespaces=[HOME], where={"wanted": True}, limit=limit)
    async with plugin.memory_client(migrated) as client:
        found = (await client.search(request)).memories
    assert [memory.content for memory in found] == wanted
