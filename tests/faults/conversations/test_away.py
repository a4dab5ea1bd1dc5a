"""The real plugin is down while 20,000 messages arrive: later it gets each of them once."""

import asyncio
from pathlib import Path

import httpx
import pytest

from tests.acceptance.command import running
from tests.faults.cluster import Postgres
from tests.faults.conversations.test_killed import AGENT, ALICE, indexed
from tests.faults.plugin import running_plugin
from tests.waiting import SECONDS

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CONVERSATIONS = 20
MESSAGES = 1000
SEARCH = "/v1/user/search/messages"


async def test_a_long_backlog_reaches_the_plugin_that_is_back(
    postgres: Postgres, tmp_path: Path
) -> None:
    async with running_plugin(postgres.url) as plugin:
        plugin.kill()
        with running(
            "--dev-auth",
            "--listen=127.0.0.1:0",
            "--workers=2",
            "--statement-timeout=60",
            f"--database-url={postgres.url}",
            f"--data-dir={tmp_path}",
            f"--plugin-url={plugin.listen}",
            environment={"MEMORY_CONVERSATIONS_AGENT_KEYS": "bot=bot-key"},
            command="memory-conversations",
        ) as server:
            async with httpx.AsyncClient(base_url=server.address, timeout=SECONDS) as client:
                await asyncio.gather(*(_fill(client, number) for number in range(CONVERSATIONS)))
                for number in (1, MESSAGES):
                    assert await _backend(client, number) == "postgres"
                plugin.start()
                await plugin.ready()
                waiting = "SELECT count(*) FROM memory_conversations.outbox"
                async with postgres.connect() as connection:
                    while await connection.fetchval(waiting):
                        # Searches find messages all the time, whichever backend answers.
                        await _backend(client, MESSAGES // 2)
                        await asyncio.sleep(0.5)
                await indexed(postgres, CONVERSATIONS * MESSAGES)
                assert await _backend(client, MESSAGES) == "plugin"


async def _fill(client: httpx.AsyncClient, conversation: int) -> None:
    made = await client.post("/v1/user/conversations", json={}, headers=ALICE)
    messages = [
        {"content": f"message m{number} of talk t{conversation}"}
        for number in range(1, MESSAGES + 1)
    ]
    path = f"/v1/agent/conversations/{made.json()['id']}/messages"
    answer = await client.post(path, json={"messages": messages}, headers=AGENT)
    assert answer.status_code == 201, answer.text


async def _backend(client: httpx.AsyncClient, number: int) -> str:
    """Which backend finds the message with this number in one of the conversations."""
    answer = await client.post(SEARCH, json={"query": f"m{number} t3"}, headers=ALICE)
    assert answer.status_code == 200, answer.text
    best = answer.json()["data"][0]["message"]["content"]
    assert best == f"message m{number} of talk t3"
    return str(answer.json()["backend"])
