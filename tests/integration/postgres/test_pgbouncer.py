"""Behind a real PgBouncer: a session per client works, a shared one is refused with a sentence."""

from contextlib import AsyncExitStack

import asyncpg
import pytest

from plugin_postgres.schema import SCHEMA
from plugin_postgres.settings import Settings
from postgres.provide import prepare
from serving.errors import BadSetting
from tests import timeouts
from tests.integration.plugin_postgres import plugin
from tests.pgbouncer import PGBOUNCER, pgbouncer

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed"),
]


async def test_a_session_for_each_client_works(database: str) -> None:
    with pgbouncer(database, "session") as url:
        await prepare(Settings(database_url=url, **timeouts.LIMITS), SCHEMA, command="x")
        async with plugin.http(url) as http:
            assert (await http.get("/v1/health")).status_code == 200
            put = await http.put("/v1/namespaces/workspace:a", json={"kind": "workspace"})
            assert put.status_code == 200
            write = {"content": "the deploy failed", "kind": "fact", "source": "user"}
            written = await http.post("/v1/namespaces/workspace:a/memories", json=write)
            assert written.status_code == 201
            search = {"namespaces": ["workspace:a"], "query": "deploy"}
            found = await http.post("/v1/search", json=search)
            assert len(found.json()["memories"]) == 1


@pytest.mark.parametrize("mode", ["transaction", "statement"])
async def test_a_session_that_clients_share_is_refused_at_the_start(
    database: str, mode: str
) -> None:
    with pgbouncer(database, mode) as url:
        for _ in range(2):
            with pytest.raises(BadSetting, match="pool_mode = session"):
                await prepare(Settings(database_url=url, **timeouts.LIMITS), SCHEMA, command="x")


@pytest.mark.parametrize("others", range(2, 8))
async def test_a_session_that_clients_take_turns_with_is_refused_too(
    database: str, others: int
) -> None:
    with pgbouncer(database, "transaction", round_robin=True) as url:
        async with AsyncExitStack() as stack:
            # The pooler has this many sessions from then on.
            for _ in range(others):
                other = await asyncpg.connect(url)
                stack.callback(other.terminate)
                await stack.enter_async_context(other.transaction())
        with pytest.raises(BadSetting, match="pool_mode = session"):
            await prepare(Settings(database_url=url, **timeouts.LIMITS), SCHEMA, command="x")
