"""What is special about the Pinecone example; the harness tests that it keeps the contract."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import httpx
import pytest
from pinecone_plugin import memories
from pinecone_standin import StandIn

from contract import BadRequest, BatchWrite, Forbidden, SearchRequest, Unavailable
from tests.integration.docs.pinecone import PLUGIN, app_on, client_on, fact, put
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

HERE, THERE = "custom:here", "custom:there"


async def test_acknowledged_writes_are_found_although_the_index_lags() -> None:
    async with client_on(StandIn(delay=0.15)) as client:
        await put(client, HERE)
        for number in range(3):
            await client.write(HERE, fact(f"memory {number}"))
            found = await client.search(SearchRequest(namespaces=[HERE]))
            assert len(found.memories) == number + 1


async def test_another_process_reads_what_the_first_one_acknowledged() -> None:
    standin = StandIn(delay=0.15)
    async with client_on(standin) as first, client_on(standin) as second:
        await put(first, HERE)
        written = await first.write(HERE, fact("kept", embedding=[1.0, 2.0]))
        for request in (
            SearchRequest(namespaces=[HERE]),
            SearchRequest(namespaces=[HERE], embedding=[1.0, 2.0]),
        ):
            found = await second.search(request)
            assert [memory.id for memory in found.memories] == [written.id]


async def test_writes_that_arrive_together_share_the_requests_to_the_service() -> None:
    standin = StandIn(dimension=32)
    async with client_on(standin) as client:
        await put(client, HERE)
        standin.requests.clear()
        await asyncio.gather(*(client.write(HERE, fact(f"memory {n}")) for n in range(50)))
        upserts = standin.requests.count("POST /vectors/upsert")
        assert upserts < 20, "50 writes alone would be 100 upserts"


async def test_a_batch_of_a_thousand_long_memories_respects_the_limits_of_the_service() -> None:
    standin = StandIn(dimension=32)
    async with client_on(standin) as client:
        await put(client, HERE)
        writes = [
            BatchWrite(namespace=HERE, content=f"{n} " + "x" * 4000, kind="fact", source="agent")
            for n in range(1000)
        ]
        results = await client.batch(writes)
        assert len(results) == 1000
        space = next(name for name in standin.namespaces if name.startswith(HERE))
        assert len(standin.namespaces[space].records) == 1000


async def test_a_long_memory_is_split_into_records_and_comes_back_complete() -> None:
    standin = StandIn(dimension=32)
    content = 'é🙂"\\\n' * 30_000
    async with client_on(standin) as client:
        await put(client, HERE)
        written = await client.write(HERE, fact(content, embedding=[3.0, 4.0]))
        by_time = await client.search(SearchRequest(namespaces=[HERE]))
        by_meaning = await client.search(SearchRequest(namespaces=[HERE], embedding=[3.0, 4.0]))
        assert [m.content for m in by_time.memories] == [content]
        assert [m.content for m in by_meaning.memories] == [content]
        await client.write(HERE, fact("short now", id=written.id))
        space = next(name for name in standin.namespaces if name.startswith(HERE))
        assert len(standin.namespaces[space].records) == 1, "no continuation is left behind"


async def test_newest_first_reads_on_when_the_first_page_does_not_match() -> None:
    async with client_on(StandIn(dimension=32)) as client:
        await put(client, HERE)
        oldest = BatchWrite(namespace=HERE, content="plan", kind="checkpoint", source="agent")
        await client.batch([oldest])
        facts = [
            BatchWrite(namespace=HERE, content=f"fact {n}", kind="fact", source="agent")
            for n in range(250)
        ]
        await client.batch(facts)
        found = await client.search(SearchRequest(namespaces=[HERE], kinds=["checkpoint"]))
        assert [memory.content for memory in found.memories] == ["plan"]


async def test_embeddings_of_any_dimension_up_to_that_of_the_index_do_not_mix() -> None:
    async with client_on(StandIn(dimension=8)) as client:
        await put(client, HERE)
        await client.write(HERE, fact("flat", embedding=[1.0, 0.0]))
        await client.write(HERE, fact("deep", embedding=[1.0, 0.0, 0.0]))
        await client.write(HERE, fact("huge", embedding=[1e38, 1e38]))
        await client.write(HERE, fact("without a direction", embedding=[0.0, 0.0]))
        found = await client.search(SearchRequest(namespaces=[HERE], embedding=[1.0, 0.1]))
        assert [memory.content for memory in found.memories] == [
            "flat",
            "huge",
            "without a direction",
        ]
        with pytest.raises(BadRequest, match="embedding: must have at most 8 numbers"):
            await client.write(HERE, fact("too long", embedding=[1.0] * 9))
        none = await client.search(SearchRequest(namespaces=[HERE], embedding=[1.0] * 9))
        assert none.memories == []


async def test_pinning_an_existing_memory_moves_it_and_leaves_one() -> None:
    async with client_on(StandIn(dimension=32)) as client:
        await put(client, HERE)
        first = await client.write(HERE, fact("old"))
        await client.write(HERE, fact("new"))
        for pin, order in ((True, ["old", "new"]), (False, ["new", "old"])):
            await client.write(HERE, fact("old", id=first.id, pin=pin))
            found = await client.search(SearchRequest(namespaces=[HERE]))
            assert [memory.content for memory in found.memories] == order


async def test_an_id_is_free_again_when_its_namespace_is_gone() -> None:
    memory_id = uuid4()
    async with client_on(StandIn(dimension=32)) as client:
        await put(client, HERE)
        await put(client, THERE)
        await client.write(HERE, fact("mine", id=memory_id))
        with pytest.raises(Forbidden):
            await client.write(THERE, fact("stolen", id=memory_id))
        await client.delete_namespace(HERE)
        await client.write(THERE, fact("mine now", id=memory_id))
        await put(client, HERE)
        found = await client.search(SearchRequest(namespaces=[HERE, THERE]))
        assert [(m.namespace, m.content) for m in found.memories] == [(THERE, "mine now")]


async def test_a_write_that_failed_half_way_leaves_one_memory_when_it_is_repeated() -> None:
    standin = StandIn(dimension=32)
    memory_id = UUID("0191d0c8-3c70-7000-8000-000000000001")
    async with client_on(standin) as client:
        await put(client, HERE)
        await client.write(HERE, fact("first", id=memory_id))
        # The pointer is written, the memory is not: dimension is cached, so the calls are
        # look-up, look-up, upsert of the pointer, upsert of the memory.
        standin.requests.clear()
        standin.fail_from = 4
        with pytest.raises(Unavailable):
            await client.write(HERE, fact("second", id=memory_id, pin=True))
        standin.fail_from = None
        await client.write(HERE, fact("third", id=memory_id, pin=True))
        found = await client.search(SearchRequest(namespaces=[HERE]))
        assert [memory.content for memory in found.memories] == ["third"]


async def test_expired_memories_free_their_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memories, "SWEEP_EVERY", -1.0)
    standin = StandIn(dimension=32)
    async with client_on(standin) as client:
        await put(client, HERE)
        soon = datetime.now(UTC) + timedelta(milliseconds=50)
        await client.write(HERE, fact("x" * 20_000, expires_at=soon))
        await eventually(lambda: datetime.now(UTC) > soon)
        await client.write(HERE, fact("stays"))
        counts = {
            name.partition("#")[0]: len(namespace.records)
            for name, namespace in standin.namespaces.items()
        }
        assert counts == {"registry": 2, HERE: 1}


@pytest.mark.parametrize(
    ("status", "retry_after", "answered", "waits"),
    [(429, "7", 429, "7"), (429, None, 429, "1"), (500, None, 503, "1"), (503, None, 503, "1")],
)
async def test_an_overloaded_service_is_unavailable(
    status: int, retry_after: str | None, answered: int, waits: str
) -> None:
    standin = StandIn(dimension=32)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app_on(standin)), base_url=PLUGIN
    ) as http:
        standin.refuse_next(4, status, retry_after=retry_after)
        response = await http.post("/v1/search", json={"namespaces": [HERE]})
        assert (response.status_code, response.headers["retry-after"]) == (answered, waits)
        assert response.json()["code"] == "unavailable"


async def test_a_short_failure_of_the_service_is_hidden_from_the_caller() -> None:
    standin = StandIn(dimension=32)
    async with client_on(standin) as client:
        await put(client, HERE)
        standin.refuse_next(2, 503)
        await client.write(HERE, fact("kept"))
        found = await client.search(SearchRequest(namespaces=[HERE]))
        assert len(found.memories) == 1


async def test_a_wrong_key_is_our_fault_and_health_says_so() -> None:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app_on(StandIn(), "wrong")), base_url=PLUGIN
    ) as http:
        response = await http.get("/v1/health")
        body = response.json()
        assert response.status_code == 503
        assert body["status"] == "degraded"
        assert body["capabilities"] == ["embedding", "ttl", "pin", "propagation"]
        assert "PINECONE_API_KEY" in body["message"]
