"""The bearer token, and what never leaves the plugin: contents, passwords, tokens."""

import logging

import httpx
import pytest

from contract import Error, MemoryClient
from serving.logs import JsonLines, TextLines
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

A = "/v1/namespaces/workspace:a"
TOKEN = "correct-horse"


async def test_everything_but_health_needs_the_token(migrated: str) -> None:
    async with plugin.http(migrated, token=TOKEN) as http:
        assert (await http.get("/v1/health")).status_code == 200
        for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}):
            for method, path in (
                ("GET", "/metrics"),
                ("PUT", A),
                ("GET", A),
                ("POST", f"{A}/memories"),
                ("POST", "/v1/search"),
                ("POST", "/v1/memories/batch"),
                ("POST", "/v1/memories/list"),
                ("DELETE", "/v1/memories/x"),
                ("GET", "/nothing"),
            ):
                answer = await http.request(method, path, headers=given)
                assert answer.status_code == 401, path
                assert answer.headers["www-authenticate"] == "Bearer"
                assert Error.model_validate_json(answer.content).code == "forbidden"
        right = {"authorization": f"Bearer {TOKEN}"}
        assert (await http.get("/metrics", headers=right)).status_code == 200
        assert (await http.put(A, json={"kind": "team"}, headers=right)).status_code == 200


async def test_the_client_with_the_token_works(migrated: str) -> None:
    async with plugin.memory_client(migrated, token=TOKEN) as client:
        assert isinstance(client, MemoryClient)
        assert (await client.health()).status == "ok"


async def test_nothing_secret_is_logged(
    migrated: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = ["my-content", "my-propagation", "my-password", TOKEN]
    body = {
        "content": secrets[0],
        "kind": "fact",
        "source": "user",
        "propagation": {"x": secrets[1]},
    }
    right = {"authorization": f"Bearer {TOKEN}"}
    async with plugin.http(migrated, token=TOKEN) as http:
        await http.put(A, json={"kind": "team"}, headers=right)

        def explode(*_: object) -> None:
            raise RuntimeError(" ".join(secrets))

        assert (await http.post(f"{A}/memories", json=body, headers=right)).status_code == 201
        monkeypatch.setattr("plugin_postgres.endpoints.parse", explode)
        answer = await http.post(f"{A}/memories", json=body, headers=right)
        assert answer.status_code == 500
        assert Error.model_validate_json(answer.content).code == "internal"
        assert not any(secret in answer.text for secret in secrets)
    async with plugin.http("postgresql://u:my-password@127.0.0.1:1/none") as http:
        await http.post(f"{A}/memories", json=body)
    assert any(record.message == "request failed" for record in caplog.records)
    for formatter in (JsonLines(), TextLines()):
        lines = [
            formatter.format(record)
            for record in caplog.records
            if record.name.startswith("plugin_postgres")
        ]
        assert not [line for line in lines if any(secret in line for secret in secrets)]


async def test_metrics_tell_requests_batches_pool_expiry_and_the_store(
    http: httpx.AsyncClient,
) -> None:
    await http.put(A, json={"kind": "team"})
    await http.post(f"{A}/memories", json={"content": "x", "kind": "fact", "source": "user"})
    await http.get("/nothing")
    text = (await http.get("/metrics")).text
    for labels in (
        'method="PUT",route="/v1/namespaces/{name}",status="200"',
        'method="POST",route="/v1/namespaces/{name}/memories",status="201"',
        'method="other",route="none",status="404"',
    ):
        assert f"memory_plugin_request_seconds_count{{{labels}}} 1.0" in text
    assert "memory_plugin_write_batch_rows_sum 1.0" in text
    assert "memory_plugin_store_up 1.0" in text
    for name in ("pool_connections ", "pool_connections_used ", "expired_total"):
        assert f"memory_plugin_{name}" in text


async def test_health_can_be_asked_for_by_head(migrated: str) -> None:
    async with plugin.http(migrated, token=TOKEN) as http:
        answer = await http.head("/v1/health")
        assert answer.status_code == 200
        assert (await http.post("/v1/health")).headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_scheme_of_the_token_may_be_in_any_case(migrated: str, scheme: str) -> None:
    async with plugin.http(migrated, token=TOKEN) as http:
        given = {"authorization": f"{scheme} {TOKEN}"}
        assert (await http.get("/metrics", headers=given)).status_code == 200
