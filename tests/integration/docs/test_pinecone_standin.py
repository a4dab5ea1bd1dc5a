"""The stand-in refuses what the service documents that it refuses, and lags as it does."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from pinecone_standin import StandIn

pytestmark = pytest.mark.anyio


@pytest.fixture
def standin() -> StandIn:
    return StandIn(dimension=2)


@pytest.fixture
async def http(standin: StandIn) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(standin.app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://index.invalid", headers={"Api-Key": "stand-in"}
    ) as client:
        yield client


def record(name: str, *, values: list[float] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"id": name, "values": values or [1.0, 0.0], "metadata": metadata}


async def upsert(http: httpx.AsyncClient, *records: dict[str, Any]) -> httpx.Response:
    return await http.post("/vectors/upsert", json={"vectors": records, "namespace": "n"})


async def query(http: httpx.AsyncClient, **body: Any) -> httpx.Response:
    defaults = {"namespace": "n", "vector": [1.0, 0.0], "topK": 10, "includeMetadata": True}
    return await http.post("/query", json=defaults | body)


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([record(str(n)) for n in range(1001)], id="1001 records"),
        pytest.param([record(str(n), text="x" * 39_000) for n in range(60)], id="over 2 MB"),
        pytest.param([record("a", text="x" * 40_001)], id="over 40 KB of metadata"),
        pytest.param([record("a", values=[1.0, 0.0, 0.0])], id="another dimension"),
        pytest.param([record("a", values=[0.0, 0.0])], id="all zeros"),
        pytest.param([record("a", nested={"a": 1})], id="nested metadata"),
        pytest.param([record("a", nothing=None)], id="null metadata"),
        pytest.param([record("a", numbers=[1, 2])], id="list of numbers"),
        pytest.param([record("é")], id="id not ASCII"),
        pytest.param([record("a" * 513)], id="id too long"),
    ],
)
async def test_refuses_an_upsert_beyond_the_limits(
    http: httpx.AsyncClient, records: list[dict[str, Any]]
) -> None:
    response = await upsert(http, *records)
    assert response.status_code == 400
    assert response.json()["code"] == 3
    assert (await query(http)).json()["matches"] == []


@pytest.mark.parametrize(
    "body",
    [
        {"topK": 10_001},
        {"topK": 0},
        {"vector": [1.0]},
        {"filter": {"a": {"$near": 1}}},
        {"filter": {"$gt": 1}},
    ],
)
async def test_refuses_a_query_beyond_the_limits(
    http: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    assert (await query(http, **body)).status_code == 400


async def test_refuses_a_query_result_of_more_than_4_mb(http: httpx.AsyncClient) -> None:
    for start in range(0, 150, 50):
        await upsert(http, *(record(str(n), text="x" * 39_000) for n in range(start, start + 50)))
    assert (await query(http, topK=150)).status_code == 400
    assert (await query(http, topK=150, includeMetadata=False)).status_code == 200


async def test_needs_the_api_key(http: httpx.AsyncClient) -> None:
    response = await http.get("/vectors/list", headers={"Api-Key": "wrong"})
    assert response.status_code == 401


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({"kind": "fact"}, "ab"),
        ({"kind": {"$eq": "fact"}}, "ab"),
        ({"kind": {"$ne": "fact"}}, "c"),
        ({"kind": {"$in": ["fact", "plan"]}}, "abc"),
        ({"kind": {"$nin": ["fact"]}}, "c"),
        ({"age": {"$gt": 1}}, "b"),
        ({"age": {"$gte": 1, "$lt": 2}}, "a"),
        ({"age": {"$lte": 2}}, "ab"),
        ({"age": {"$exists": False}}, "c"),
        ({"$or": [{"kind": "plan"}, {"age": 1}]}, "ac"),
        ({"$and": [{"kind": "fact"}, {"age": {"$gt": 1}}]}, "b"),
        ({"kind": "fact", "age": 1}, "a"),
    ],
)
async def test_filters(http: httpx.AsyncClient, condition: dict[str, Any], found: str) -> None:
    await upsert(
        http,
        record("a", kind="fact", age=1),
        record("b", kind="fact", age=2),
        record("c", kind="plan"),
    )
    matches = (await query(http, filter=condition)).json()["matches"]
    assert "".join(sorted(match["id"] for match in matches)) == found
    await http.post("/vectors/delete", json={"namespace": "n", "filter": condition})
    left = (await query(http)).json()["matches"]
    assert "".join(sorted(match["id"] for match in left)) == "".join(sorted({*"abc"} - {*found}))


async def test_ranks_by_cosine(http: httpx.AsyncClient) -> None:
    await upsert(
        http,
        record("across", values=[0.0, 5.0]),
        record("along", values=[9.0, 0.0]),
        record("between", values=[1.0, 1.0]),
    )
    matches = (await query(http, topK=2)).json()["matches"]
    assert [match["id"] for match in matches] == ["along", "between"]
    assert [match["score"] for match in matches] == pytest.approx([1.0, 0.5**0.5])


async def test_lists_ids_in_order_page_by_page(http: httpx.AsyncClient) -> None:
    await upsert(http, *(record(f"x{n:03}") for n in range(250)), record("y"))
    seen: list[str] = []
    params = {"namespace": "n", "prefix": "x"}
    while True:
        page = (await http.get("/vectors/list", params=params)).json()
        seen += [vector["id"] for vector in page["vectors"]]
        if "pagination" not in page:
            break
        params["paginationToken"] = page["pagination"]["next"]
    assert seen == [f"x{n:03}" for n in range(250)]


async def test_namespaces_do_not_see_each_other(http: httpx.AsyncClient) -> None:
    await upsert(http, record("a"))
    assert (await query(http, namespace="other")).json()["matches"] == []
    fetched = await http.get("/vectors/fetch", params={"ids": ["a", "b"], "namespace": "n"})
    assert list(fetched.json()["vectors"]) == ["a"]
    missing = await http.post("/vectors/delete", json={"namespace": "other", "deleteAll": True})
    assert missing.status_code == 404
    await http.post("/vectors/delete", json={"namespace": "n", "deleteAll": True})
    stats = (await http.post("/describe_index_stats", json={})).json()
    assert (stats["dimension"], stats["totalVectorCount"]) == (2, 0)


async def test_a_write_is_seen_later_and_the_sequence_number_says_when(
    http: httpx.AsyncClient, standin: StandIn
) -> None:
    standin.delay = 3600
    written = await upsert(http, record("a"))
    wanted = int(written.headers["x-pinecone-request-lsn"])
    early = await query(http)
    assert early.json()["matches"] == []
    assert int(early.headers["x-pinecone-max-indexed-lsn"]) < wanted
    for namespace in standin.namespaces.values():
        namespace.log[0] = (0.0, *namespace.log[0][1:])  # the hour is over
    late = await query(http)
    assert [match["id"] for match in late.json()["matches"]] == ["a"]
    assert int(late.headers["x-pinecone-max-indexed-lsn"]) >= wanted
