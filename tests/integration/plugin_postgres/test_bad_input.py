"""Nothing that a client sends gets a 500, and every refusal carries the Error envelope."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest

from contract import Error
from tests.integration.plugin_postgres import plugin

pytestmark = pytest.mark.anyio

A = "/v1/namespaces/workspace:a"
WRITE = {"content": "x", "kind": "fact", "source": "user"}
DEEP = b'{"a":' * 100_000


def refused(answer: httpx.Response, status: int = 400) -> str:
    """The message of an answer that must be an envelope with this status."""
    assert answer.status_code == status, answer.text
    return Error.model_validate_json(answer.content).message


@pytest.fixture
async def plain(migrated: str) -> AsyncIterator[httpx.AsyncClient]:
    async with plugin.http(migrated, max_body=2000, max_content=100, max_namespaces=3) as client:
        await client.put(A, json={"kind": "workspace"})
        yield client


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"5",
        b'"text"',
        b"{",
        b"{}",
        b"\xff\xfe",
        b"\x00",
        DEEP[:1500],
        b"[" * 1500,
        b'{"content": ' + b"9" * 1500 + b"}",
        b'{"content": "x", "kind": "fact", "source": "user", "expires_at": 1e400}',
        b'{"content": "x", "kind": "fact", "source": "user", "id": 5}',
        b'{"content": "x", "kind": "fact", "source": "user", "propagation": {"a": NaN}}',
        b'{"content": "x", "kind": "fact", "source": "user", "propagation": {"a": 1e999}}',
        b'{"content": "x", "kind": "fact", "source": "user", "propagation": {"\\u0000": 1}}',
        b'{"content": "x", "kind": "fact", "source": "user", "expires_at": "0000-01-01T00:00:00Z"}',
        b'{"namespaces": ["workspace:a"], "limit": 0}',
        b'{"namespaces": ["workspace:a"], "limit": 99999999999999999999999999}',
        b'{"namespaces": ["workspace:a"], "limit": 1e400}',
        b'{"namespaces": ["workspace:a"], "limit": true}',
        b'{"namespaces": []}',
        b'{"namespaces": ["\\ud800:x"]}',
        b'{"writes": []}',
        b'{"kind": "nope"}',
        b'{"requested_by_namespace": "x"}',
        b'{"expires_at": "tomorrow"}',
    ],
)
async def test_a_malformed_body_is_400_everywhere(plain: httpx.AsyncClient, body: bytes) -> None:
    for method, path in (
        ("PUT", A),
        ("PATCH", A),
        ("POST", f"{A}/memories"),
        ("POST", "/v1/search"),
        ("POST", "/v1/memories/batch"),
        ("POST", "/v1/memories/list"),
        ("DELETE", "/v1/memories/018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11"),
    ):
        answer = await plain.request(method, path, content=body)
        refused(answer)


@pytest.mark.parametrize("name", ["nocolon", "a%2Fb", "a:b%2Fmemories", "%ff:x", "a:b%00", "A:b"])
async def test_a_bad_name_in_the_path_is_400_and_names_it(
    plain: httpx.AsyncClient, name: str
) -> None:
    for method, body in (("PUT", {"kind": "team"}), ("PATCH", {"metadata": {}}), ("DELETE", None)):
        answer = await plain.request(method, f"/v1/namespaces/{name}", json=body)
        assert refused(answer).startswith(("name:", "path:"))
    written = await plain.post(f"/v1/namespaces/{name}/memories", json=WRITE)
    assert refused(written).startswith(("name:", "path:"))


async def test_an_encoded_slash_belongs_to_the_name_whatever_the_method(
    plain: httpx.AsyncClient,
) -> None:
    for method in ("GET", "POST"):
        answer = await plain.request(method, "/v1/namespaces/a:b%2Fmemories", json=WRITE)
        assert refused(answer).startswith(("name:", "path:"))


async def test_a_name_of_256_characters_fits_and_one_more_does_not(
    plain: httpx.AsyncClient,
) -> None:
    longest = "a:" + "x" * 254
    assert (await plain.put(f"/v1/namespaces/{longest}", json={"kind": "team"})).status_code == 200
    refused(await plain.put(f"/v1/namespaces/{longest}x", json={"kind": "team"}))


async def test_a_percent_encoded_name_is_the_same_name(plain: httpx.AsyncClient) -> None:
    answer = await plain.post("/v1/namespaces/workspace%3Aa/memories", json=WRITE)
    assert answer.json()["namespace"] == "workspace:a"


async def test_a_bad_id_in_the_path_is_400(plain: httpx.AsyncClient) -> None:
    answer = await plain.request(
        "DELETE", "/v1/memories/not-a-uuid", json={"requested_by_namespace": "workspace:a"}
    )
    assert refused(answer).startswith("id:")


async def test_unknown_routes_are_404_and_unknown_methods_405_with_allow(
    plain: httpx.AsyncClient,
) -> None:
    for path in ("/", "/v1", "/v1/nothing", "/v1/health/", "/v1/namespaces/", f"{A}/memories/x"):
        refused(await plain.get(path), 404)
    for method, path, allow in (
        ("GET", A, "PUT, PATCH, DELETE"),
        ("GET", f"{A}/memories", "POST"),
        ("DELETE", "/v1/search", "POST"),
        ("PUT", "/v1/memories/018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11", "GET, DELETE, HEAD"),
        ("POST", "/v1/health", "GET, HEAD"),
        ("OPTIONS", "/v1/search", "POST"),
        ("BREW", "/v1/search", "POST"),
    ):
        answer = await plain.request(method, path)
        refused(answer, 405)
        assert answer.headers["allow"] == allow


async def test_a_body_over_the_limit_is_413_before_it_is_read(plain: httpx.AsyncClient) -> None:
    read = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(1000):
            read += 1000
            yield b"x" * 1000

    stated = {"content-length": "1000000"}
    refused(await plain.post("/v1/search", content=body(), headers=stated), 413)
    assert read == 0
    refused(await plain.post("/v1/search", content=body()), 413)
    assert read < 10_000


async def test_the_batch_has_a_limit_of_its_own(plain: httpx.AsyncClient) -> None:
    writes = [WRITE | {"namespace": "workspace:a"}] * 100
    assert len(json.dumps({"writes": writes})) > 2000
    answer = await plain.post("/v1/memories/batch", json={"writes": writes})
    assert answer.status_code == 200


async def test_content_over_the_limit_is_413_in_bytes_not_characters(
    plain: httpx.AsyncClient,
) -> None:
    for content, status in (("x" * 100, 201), ("x" * 101, 413), ("ü" * 50, 201), ("ü" * 51, 413)):
        answer = await plain.post(f"{A}/memories", json=WRITE | {"content": content})
        assert answer.status_code == status
    assert "content" in refused(answer, 413)
    mixed = [WRITE | {"namespace": "workspace:a", "content": c} for c in ("x" * 101, "fits")]
    results = (await plain.post("/v1/memories/batch", json={"writes": mixed})).json()["results"]
    assert results[0]["error"]["code"] == "bad_request"
    assert results[1]["namespace"] == "workspace:a"


async def test_too_many_namespaces_are_400(plain: httpx.AsyncClient) -> None:
    names = [f"team:{number}" for number in range(4)]
    for path in ("/v1/search", "/v1/memories/list"):
        assert "namespaces" in refused(await plain.post(path, json={"namespaces": names}))
        assert (await plain.post(path, json={"namespaces": names[:3]})).status_code == 200


async def test_an_embedding_has_at_most_16000_numbers(http: httpx.AsyncClient) -> None:
    await http.put(A, json={"kind": "workspace"})
    for size, status in ((16_000, 201), (16_001, 400)):
        answer = await http.post(f"{A}/memories", json=WRITE | {"embedding": [0.5] * size})
        assert answer.status_code == status
    assert "embedding" in refused(answer)


async def test_the_content_type_does_not_matter(plain: httpx.AsyncClient) -> None:
    for kind in ("", "text/plain", "application/json; charset=utf-16", "\x01"):
        answer = await plain.post(
            f"{A}/memories", content=json.dumps(WRITE), headers={"content-type": kind}
        )
        assert answer.status_code == 201, kind


async def test_a_cursor_that_was_not_given_out_is_400(plain: httpx.AsyncClient) -> None:
    for cursor in ("", "x", "é", "AAAA", "=" * 50):
        body = {"namespaces": ["workspace:a"], "cursor": cursor}
        assert "cursor" in refused(await plain.post("/v1/memories/list", json=body))


async def test_unknown_fields_are_ignored(plain: httpx.AsyncClient) -> None:
    answer = await plain.post(f"{A}/memories", json=WRITE | {"later_version": {"deep": [1]}})
    assert answer.status_code == 201
