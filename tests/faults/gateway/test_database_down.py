"""Ruling 27: PostgreSQL goes down and comes back."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests import timeouts
from tests.faults.cluster import directory, running_postgres
from tests.faults.gateway.process import Gateway
from tests.faults.plugin import running_plugin

pytestmark = pytest.mark.anyio


async def test_ruling_27_without_postgres_everything_but_health_is_503(
    gateway_template: Path,
) -> None:
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(running_postgres(gateway_template))
        patient = timeouts.ENVIRONMENT
        plugin = await stack.enter_async_context(running_plugin(postgres.url))
        made = stack.enter_context(directory("gw"))
        socket = Path(plugin.listen.removeprefix("unix:"))
        gateway = Gateway(made, postgres.url, socket, environment=patient)
        gateway.start()
        stack.callback(gateway.kill)
        await gateway.ready()
        key = (await gateway.insist("/users", {"user_id": "ann"}))["user_key"]
        credentials = {"user_id": "ann", "user_key": key}
        message = {"sender_id": "ann", "role": "user", "timestamp": 5, "content": "hello"}
        add = {**credentials, "session_id": "s", "messages": [message]}
        await gateway.insist("/memories/add", add)
        postgres.kill()
        async with gateway.http() as http:
            health = await http.get("/health")
            assert health.status_code == 200
            assert health.json()["status"] == "degraded"
            assert health.json()["database"] == "unavailable"
            for path, body in (
                ("/users", {"user_id": "bob"}),
                ("/memories/add", add),
                ("/memories/flush", {**credentials, "session_id": "s"}),
                ("/memories/search", {**credentials, "query": "hello"}),
                ("/resources", {**credentials, "text": "hello"}),
            ):
                answer = await http.post(path, json=body)
                assert answer.status_code == 503, path
                assert answer.json()["code"] == "unavailable"
                assert int(answer.headers["retry-after"]) >= 1
            for method, path in (
                ("DELETE", "/sessions/s"),
                ("GET", "/resources"),
                ("GET", "/users/ann/export"),
                ("DELETE", "/users/ann"),
            ):
                answer = await http.request(method, path, auth=("ann", key))
                assert answer.status_code == 503, path
        postgres.start()
        await postgres.ready()
        async with gateway.http() as http:
            # The first request after its return is served, not answered with 503.
            known = await http.post("/memories/add", json=add)
            assert known.status_code == 200, known.text
            assert known.json()["duplicate_count"] == 1  # nothing that was answered is lost
            found = await http.post("/memories/search", json={**credentials, "query": "hello"})
            assert found.status_code == 200, found.text
