"""The extensions `browse` and `get`: by time, page by page; how many; one by one."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

A, B = "workspace:browse-a", "workspace:browse-b"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
async def http(migrated: str) -> AsyncIterator[httpx.AsyncClient]:
    async with plugin.http(migrated) as http:
        for name in (A, B, "workspace:other"):
            await http.put(f"/v1/namespaces/{name}", json={"kind": "workspace"})
        yield http


async def write(http: httpx.AsyncClient, *writes: dict[str, Any]) -> list[str]:
    whole = [
        {"namespace": A, "kind": "fact", "source": "agent", "content": f"memory {n}", **given}
        for n, given in enumerate(writes)
    ]
    answer = await http.post("/v1/memories/batch", json={"writes": whole})
    return [result["id"] for result in answer.json()["results"]]


def at(minutes: int) -> str:
    return (NOON + timedelta(minutes=minutes)).isoformat()


async def page(http: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    body = {"namespaces": [A, B], "order": "newest", **fields}
    answer = await http.post("/v1/memories/list", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def listed(http: httpx.AsyncClient, **fields: Any) -> list[str]:
    """The ids of all pages."""
    ids: list[str] = []
    cursor = None
    while True:
        found = await page(http, cursor=cursor, **fields)
        assert len(found["memories"]) <= fields.get("limit", 100)
        ids += [memory["id"] for memory in found["memories"]]
        cursor = found["next_cursor"]
        if cursor is None:
            return ids


@pytest.mark.parametrize("limit", [1, 3, 7, 24, 1000])
async def test_newest_is_by_time_then_by_id_and_pins_do_not_matter(
    http: httpx.AsyncClient, limit: int
) -> None:
    made: list[dict[str, Any]] = [
        {
            "id": str(UUID(int=(n * 7919) % 1000)),
            "namespace": (A, B)[n % 2],
            "created_at": at(n // 5),
            "pin": n % 3 == 0,
        }
        for n in range(1, 25)
    ]
    await write(http, *made, {"namespace": "workspace:other"})
    ordered = sorted(made, key=lambda one: one["id"])
    ordered.sort(key=lambda one: one["created_at"], reverse=True)
    assert await listed(http, limit=limit) == [one["id"] for one in ordered]
    assert await listed(http, limit=limit, fields="digest") == [one["id"] for one in ordered]


async def test_what_is_written_after_the_first_page_does_not_appear(
    http: httpx.AsyncClient,
) -> None:
    before = await write(http, *({"created_at": at(n)} for n in range(10)))
    first = await page(http, limit=3)
    await write(http, {"created_at": at(5)}, {"created_at": at(-5)}, {})
    # Replaced, it is still the same memory.
    await write(http, {"id": before[1], "content": "changed", "pin": True})
    ids = [memory["id"] for memory in first["memories"]]
    cursor = first["next_cursor"]
    while cursor is not None:
        found = await page(http, limit=3, cursor=cursor)
        ids += [memory["id"] for memory in found["memories"]]
        cursor = found["next_cursor"]
    assert ids == before[::-1]
    assert len(await listed(http)) == 13


async def test_what_was_forgotten_between_two_pages_leaves_no_gap(
    http: httpx.AsyncClient,
) -> None:
    ids = (await write(http, *({"created_at": at(n)} for n in range(6))))[::-1]
    first = await page(http, limit=2)
    for gone in (ids[1], ids[2]):
        await http.request("DELETE", f"/v1/memories/{gone}", json={"requested_by_namespace": A})
    second = await page(http, limit=2, cursor=first["next_cursor"])
    assert [memory["id"] for memory in second["memories"]] == ids[3:5]


async def test_many_memories_of_the_same_moment_come_once_each(http: httpx.AsyncClient) -> None:
    ids = await write(http, *({"created_at": at(0), "pin": n % 2 == 0} for n in range(300)))
    assert await listed(http, limit=7) == sorted(ids)


@pytest.mark.parametrize("order", ["id", "newest"])
async def test_kinds_and_fields_choose_in_both_orders(http: httpx.AsyncClient, order: str) -> None:
    ids = await write(
        http,
        *(
            {
                "kind": ("fact", "summary", "checkpoint")[n % 3],
                "created_at": at(n),
                "propagation": {"even": n % 2 == 0},
            }
            for n in range(60)
        ),
    )
    for kinds, where, expected in (
        (["summary"], None, ids[1::3]),
        (["summary", "checkpoint"], None, [i for n, i in enumerate(ids) if n % 3]),
        (["fact"], None, ids[::3]),
        ([], None, ids),
        (["fact"], {"even": True}, ids[::6]),
        (None, {"even": True}, ids[::2]),
    ):
        fields = {"order": order, "kinds": kinds, "where": where, "limit": 4}
        found = await listed(http, **{k: v for k, v in fields.items() if v is not None})
        assert found == (sorted(expected) if order == "id" else expected[::-1])


@pytest.mark.parametrize("order", ["id", "newest"])
async def test_few_that_match_are_found_among_many_that_do_not(
    http: httpx.AsyncClient, migrated: str, order: str
) -> None:
    async with plugin.pool_connection(migrated) as connection:
        await connection.execute(
            "INSERT INTO memory_records (namespace, content, kind, source, created_at, propagation)"
            " SELECT $1, 'memory ' || n, 'fact', 'agent', now() - n * interval '1 minute',"
            " jsonb_build_object('rare', n > 4990) FROM generate_series(1, 5000) AS n",
            A,
        )
        rare = await connection.fetch(
            "SELECT id::text FROM memory_records WHERE propagation @> '{\"rare\": true}'"
            f" ORDER BY {'id' if order == 'id' else 'created_at DESC'}"
        )
        span = await connection.fetchval(
            "SELECT min(created_at) + interval '5 minutes' FROM memory_records"
        )
    expected = [row["id"] for row in rare]
    assert await listed(http, order=order, where={"rare": True}, limit=3) == expected
    oldest = await listed(http, order=order, created_before=span.isoformat(), limit=2)
    assert len(oldest) == 5
    assert set(oldest) <= set(expected)


@pytest.mark.parametrize(
    "change",
    [
        {"order": "id"},
        {"namespaces": [A]},
        {"kinds": ["fact"]},
        {"where": {"a": 1}},
        {"where": {"a": True}},
        {"created_after": at(-60)},
        {"created_before": at(60)},
    ],
)
async def test_a_cursor_belongs_to_its_listing(
    http: httpx.AsyncClient, change: dict[str, Any]
) -> None:
    await write(http, *({"created_at": at(n)} for n in range(5)))
    for order in ("newest", "id"):
        cursor = (await page(http, limit=2, order=order))["next_cursor"]
        body = {"namespaces": [A, B], "order": order, "cursor": cursor, **change}
        if body["order"] == order and change == {"order": "id"}:
            continue
        answer = await http.post("/v1/memories/list", json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
        assert "cursor" in answer.json()["message"]


async def test_limit_and_fields_may_change_and_equal_requests_are_the_same(
    http: httpx.AsyncClient,
) -> None:
    ids = await write(http, *({"created_at": at(n), "propagation": {"a": 1}} for n in range(6)))
    cursor = (await page(http, limit=2, where={"a": 1}, kinds=["fact", "summary"]))["next_cursor"]
    again = await page(
        http,
        namespaces=[B, A, A],
        where={"a": 1.0},
        kinds=["summary", "fact", "fact"],
        cursor=cursor,
        limit=50,
        fields="digest",
    )
    assert [memory["id"] for memory in again["memories"]] == ids[::-1][2:]


@pytest.mark.parametrize("cursor", ["x", "AAAA", "", "a" * 55, "é", "//////"])
async def test_what_is_not_a_cursor_is_refused(http: httpx.AsyncClient, cursor: str) -> None:
    for order in ("id", "newest"):
        body = {"namespaces": [A], "cursor": cursor, "order": order}
        answer = await http.post("/v1/memories/list", json=body)
        assert answer.status_code == 400
        assert "cursor" in answer.json()["message"]


async def count(http: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await http.post("/v1/memories/count", json={"namespaces": [A, B], **fields})
    assert answer.status_code == 200, answer.text
    counted: dict[str, Any] = answer.json()
    return counted


async def test_counts_are_of_live_memories_and_exact(http: httpx.AsyncClient) -> None:
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    await write(
        http,
        *({"namespace": (A, B)[n % 2], "kind": ("fact", "summary")[n % 2]} for n in range(9)),
        {"expires_at": past},
        {"pin": True},
        {"namespace": "workspace:other"},
    )
    assert await count(http) == {"count": 10}
    assert await count(http, namespaces=[A, A, "workspace:unknown"]) == {"count": 6}
    assert await count(http, kinds=["summary"]) == {"count": 4}
    assert await count(http, kinds=["fact"]) == {"count": 6}
    await http.patch(f"/v1/namespaces/{B}", json={"expires_at": past})
    assert await count(http) == {"count": 6}


async def test_groups_have_the_largest_first_then_by_value(http: httpx.AsyncClient) -> None:
    values: list[Any] = ["b", "b", "a", "a", 10, 9.5, 9.50, True, False, 1, 1.0, "10"]
    fields: list[dict[str, Any] | None] = [{"f": value} for value in values]
    fields += [None, {}, {"f": None}, {"f": [1]}, {"f": {"x": 1}}, {"g": 1}]
    await write(http, *({"propagation": field} for field in fields))
    counted = await count(http, group_by="f")
    assert counted["count"] == len(fields)
    assert [(group["value"], group["count"]) for group in counted["groups"]] == [
        (None, 6),
        (1, 2),
        (9.5, 2),
        ("a", 2),
        ("b", 2),
        (False, 1),
        (True, 1),
        (10, 1),
        ("10", 1),
    ]
    assert [type(group["value"]) for group in counted["groups"]][5:7] == [bool, bool]
    assert await count(http, group_by="f", where={"f": "a"}) == {
        "count": 2,
        "groups": [{"value": "a", "count": 2}],
    }
    assert await count(http, group_by="f", where={"f": "z"}) == {"count": 0, "groups": []}


async def test_more_than_a_thousand_groups_are_refused(http: httpx.AsyncClient) -> None:
    await write(http, *({"propagation": {"n": n}} for n in range(1000)))
    assert len((await count(http, group_by="n"))["groups"]) == 1000
    await write(http, {})
    body = {"namespaces": [A], "group_by": "n"}
    answer = await http.post("/v1/memories/count", json=body)
    assert answer.status_code == 400
    assert "group_by" in answer.json()["message"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"namespaces": []},
        {"namespaces": ["Bad Name"]},
        {"namespaces": [A], "group_by": ""},
        {"namespaces": [A], "group_by": "n" * 65},
        {"namespaces": [A], "group_by": 1},
        {"namespaces": [A], "kinds": ["thought"]},
    ],
)
async def test_an_invalid_count_is_refused(http: httpx.AsyncClient, body: dict[str, Any]) -> None:
    assert (await http.post("/v1/memories/count", json=body)).status_code == 400


async def test_get_answers_with_the_memory(http: httpx.AsyncClient) -> None:
    [key] = await write(http, {"created_at": at(0), "pin": True, "propagation": {"a": [1]}})
    answer = await http.get(f"/v1/memories/{key}", params={"namespace": A})
    assert answer.status_code == 200
    assert answer.json() == {
        "id": key,
        "namespace": A,
        "content": "memory 0",
        "kind": "fact",
        "source": "agent",
        "created_at": "2026-03-01T12:00:00Z",
        "pin": True,
        "propagation": {"a": [1]},
    }


async def test_get_refuses_what_is_elsewhere_gone_or_not_there(http: httpx.AsyncClient) -> None:
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    mine, expired, other = await write(
        http, {}, {"expires_at": past}, {"namespace": "workspace:other"}
    )

    async def status(key: str, **params: str) -> int:
        return (await http.get(f"/v1/memories/{key}", params=params)).status_code

    assert await status(mine, namespace=B) == 403
    assert await status(mine, namespace="workspace:unknown") == 403
    assert await status(expired, namespace=A) == 404
    assert await status(str(uuid4()), namespace=A) == 404
    assert await status("no-uuid", namespace=A) == 400
    assert await status(mine) == 400
    assert await status(mine, namespace="") == 400
    assert await status(mine, namespace="Bad Name") == 400
    assert (await http.get(f"/v1/memories/{mine}?namespace=%ff")).status_code == 400
    twice = await http.get(f"/v1/memories/{mine}?namespace={A}&namespace={B}")
    assert twice.status_code == 400
    await http.patch("/v1/namespaces/workspace:other", json={"expires_at": past})
    assert await status(other, namespace="workspace:other") == 404
