"""The time that memory gets as shipped: a plugin that never answers costs memory, not the answer.

The other tests let memory take its time, because a busy machine is slow. Here nothing is faster
than the machine: the search never ends by itself.
"""

import asyncio
import json

import httpx

from recall.configuration import Configuration
from tests.integration.recall.server import MANAGEMENT, recall
from tests.integration.recall.upstream import Model, Received, scripted_model, whole
from tests.waiting import SECONDS, until

_HEALTH = {"status": "ok", "version": "1.0.0", "capabilities": ["fts", "propagation"]}


async def _hang(received: Received, writer: asyncio.StreamWriter) -> None:
    """A plugin that says that it is well, and answers nothing else until who asks has left."""
    if received.target == "/v1/health":
        writer.write(whole(json.dumps(_HEALTH).encode()))
    else:
        await asyncio.to_thread(received.left.wait, SECONDS)


def test_a_plugin_that_hangs_costs_a_request_its_memory_only(
    database: str, model: Model, owner: str
) -> None:
    with (
        scripted_model() as plugin,
        recall(
            *("--database-url", database, "--plugin-url", plugin.url.removesuffix("/v1")),
            *("--upstream-url", model.url, "--dev-auth"),
        ) as server,
        httpx.Client(base_url=server.url, timeout=SECONDS) as client,
    ):
        plugin.respond = _hang
        settings = client.get("/api/settings/memory", headers=MANAGEMENT).json()
        assert settings["retrievalBudgetMs"] == Configuration().retrievalBudgetMs == 250

        def searches() -> list[Received]:
            return [one for one in plugin.requests if one.target == "/v1/search"]

        def is_held_up() -> bool:
            """Whether a request came as far as the plugin; a slow machine may give up before."""
            body = b'{"messages": [ {"role": "user", "content": "Which tea?"} ]}'
            answer = client.post(
                "/v1/chat/completions", content=body, headers={"authorization": f"Bearer {owner}"}
            )
            assert answer.status_code == 200
            assert answer.headers["x-memory-injected"] == "0"
            assert model.last.body == body
            # "plugin" would mean that it ended when the client of the plugin had waited enough.
            return bool(searches()) and answer.headers["x-memory-error"] == "timeout"

        until(is_held_up)
        until(lambda: all(one.left.is_set() for one in searches()), "a search is not cancelled")
