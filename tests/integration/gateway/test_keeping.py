"""Rulings 23, 25, 26 and 28: what is kept, where, and what is refused."""

import base64
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest

from tests.integration.gateway import people
from tests.integration.gateway.people import Gateway, Person, checked, message, turn
from tests.integration.gateway.plugin import Switchboard

pytestmark = pytest.mark.anyio

SECRETS = {
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "API_KEY",
    "AKIAIOSFODNN7EXAMPLE": "API_KEY",
    "hunter2hunter2": "PASSWORD",
}


async def everything(store: str) -> str:
    """All text in the gateway's tables."""
    connection = await asyncpg.connect(store)
    try:
        tables = await connection.fetch(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'memory_gateway'"
        )
        rows = [
            row[0]
            for (table,) in tables
            for row in await connection.fetch(f"SELECT t::text FROM memory_gateway.{table} AS t")
        ]
    finally:
        await connection.close()
    return "\n".join(rows)


async def test_ruling_23_secrets_are_replaced_before_anything_is_stored(
    store: str, ann: Person, plugin: Switchboard
) -> None:
    github, aws, password = SECRETS
    said = f"use {github} or {aws}, password: {password}"
    await ann.add("chat:1", message(said), message(f"ok {github}", "assistant"))
    buffered = await everything(store)
    assert "[REDACTED:API_KEY]" in buffered
    await ann.flush("chat:1")
    await ann.upload(f"The password: {password}\n\nand {aws}.", title=f"About {github}")
    [memory] = await ann.search("use", conversation_id="1", scope=["current_chat"])
    checked(await ann.patch(memory["id"], f"now {aws}"), 200)
    shown = (await ann.get(f"/users/{ann.user_id}/export")).text
    kept = "\n".join([await everything(store), shown, *plugin.texts(ann.user_id)])
    for secret, label in SECRETS.items():
        assert secret not in kept
        assert secret not in buffered
        assert f"[REDACTED:{label}]" in kept


async def test_ruling_23_hashes_and_uuids_stay(ann: Person) -> None:
    said = "commit 3f786850e387550fdab836ed7e6dc881de23001b of 018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11"
    await ann.say("chat:1", said)
    [text] = await ann.texts("commit")
    assert said in text


async def test_ruling_23_it_can_be_switched_off(store: str, plugin: Switchboard) -> None:
    async with people.gateway(store, plugin.client(), redact=False) as gateway:
        ann = await gateway.person()
        await ann.say("chat:1", "the key AKIAIOSFODNN7EXAMPLE")
        assert "AKIAIOSFODNN7EXAMPLE" in (await ann.texts("key"))[0]
        await ann.upload("Paper with AKIAIOSFODNN7EXAMPLE in it.")
        assert "AKIAIOSFODNN7EXAMPLE" in (await ann.texts("paper"))[0]


async def test_ruling_25_namespaces_are_hashes_with_the_clear_ids_in_their_metadata(
    ann: Person, plugin: Switchboard
) -> None:
    odd = "päge/ü:" + "x" * 200
    await ann.say(odd, "Talk of tea", app_id="a.b", project_id="p-q")
    resource = await ann.upload("Some paper.")
    spaces = {
        it.stored.metadata["session_id"]: it
        for it in plugin.spaces(ann.user_id)
        if it.stored.metadata
    }
    assert set(spaces) == {odd, resource["session_id"]}
    assert re.fullmatch(r"custom:gw:[0-9a-f]+:chat:[0-9a-f]+", spaces[odd].name)
    assert re.fullmatch(r"custom:gw:[0-9a-f]+:res:[0-9a-f]+", spaces[resource["session_id"]].name)
    assert spaces[odd].stored.kind == "custom"
    assert spaces[odd].stored.metadata == {
        "user_id": ann.user_id,
        "app_id": "a.b",
        "project_id": "p-q",
        "session_id": odd,
    }
    users = {it.name.split(":")[2] for it in spaces.values()}
    assert len(users) == 1


async def test_ruling_25_no_answer_names_a_namespace(ann: Person) -> None:
    await ann.say("chat:1", "Talk of tea")
    resource = await ann.upload("Some tea.")
    shown = [
        (await ann.post("/memories/search", query="tea", scope=["all_user_memory"])).text,
        (await ann.get(f"/users/{ann.user_id}/export")).text,
        json.dumps(resource),
    ]
    assert not any("custom:gw" in text for text in shown)


SEARCH = {"query": "tea"}
ADD = {"session_id": "s", "messages": [message("hi")]}


def with_message(**change: Any) -> dict[str, Any]:
    return {"session_id": "s", "messages": [message("hi") | change]}


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("/memories/search", {}, "query"),
    ("/memories/search", {"query": ""}, "query"),
    ("/memories/search", {"query": " \n"}, "query"),
    ("/memories/search", {"query": None}, "query"),
    ("/memories/search", {"query": 5}, "query"),
    ("/memories/search", {"query": "a\x00b"}, "query"),
    ("/memories/search", {"query": "\ud800"}, "query"),
    ("/memories/search", SEARCH | {"top_k": 0}, "top_k"),
    ("/memories/search", SEARCH | {"top_k": 101}, "top_k"),
    ("/memories/search", SEARCH | {"top_k": True}, "top_k"),
    ("/memories/search", SEARCH | {"top_k": "5"}, "top_k"),
    ("/memories/search", SEARCH | {"top_k": 2.5}, "top_k"),
    ("/memories/search", SEARCH | {"top_k": 10**30}, "top_k"),
    ("/memories/search", SEARCH | {"scope": []}, "scope"),
    ("/memories/search", SEARCH | {"scope": "resources"}, "scope"),
    ("/memories/search", SEARCH | {"scope": ["everything"]}, "scope"),
    ("/memories/search", SEARCH | {"conversation_id": "x" * 252}, "conversation_id"),
    ("/memories/search", SEARCH | {"conversation_id": " "}, "conversation_id"),
    ("/memories/search", SEARCH | {"app_id": ".."}, "app_id"),
    ("/memories/search", SEARCH | {"app_id": "a/b"}, "app_id"),
    ("/memories/search", SEARCH | {"project_id": ""}, "project_id"),
    ("/memories/search", SEARCH | {"project_id": "x" * 129}, "project_id"),
    ("/memories/add", ADD | {"session_id": ""}, "session_id"),
    ("/memories/add", ADD | {"session_id": "  "}, "session_id"),
    ("/memories/add", ADD | {"session_id": "x" * 257}, "session_id"),
    ("/memories/add", ADD | {"session_id": "a\nb"}, "session_id"),
    ("/memories/add", ADD | {"session_id": "a\u0085b"}, "session_id"),
    ("/memories/add", ADD | {"session_id": "resource:x"}, "session_id"),
    ("/memories/add", ADD | {"session_id": "memory_edit:x"}, "session_id"),
    ("/memories/add", ADD | {"session_id": 5}, "session_id"),
    ("/memories/add", {"session_id": "s"}, "messages"),
    ("/memories/add", ADD | {"messages": []}, "messages"),
    ("/memories/add", ADD | {"messages": {}}, "messages"),
    ("/memories/add", ADD | {"messages": [message("x")] * 501}, "messages"),
    ("/memories/add", with_message(role="system"), "messages.0.role"),
    ("/memories/add", with_message(sender_id=""), "messages.0.sender_id"),
    ("/memories/add", with_message(sender_id="x" * 257), "messages.0.sender_id"),
    ("/memories/add", with_message(timestamp=0), "messages.0.timestamp"),
    ("/memories/add", with_message(timestamp=-5), "messages.0.timestamp"),
    ("/memories/add", with_message(timestamp="5"), "messages.0.timestamp"),
    ("/memories/add", with_message(timestamp=True), "messages.0.timestamp"),
    ("/memories/add", with_message(timestamp=253_402_300_800_000), "messages.0.timestamp"),
    ("/memories/add", with_message(content=None), "messages.0.content"),
    ("/memories/add", with_message(content=5), "messages.0.content"),
    ("/memories/add", with_message(content=["x"]), "messages.0.content"),
    ("/memories/add", with_message(content=[{"type": "text"}]), "messages.0.content"),
    ("/memories/add", with_message(content="a\x00b"), "messages.0.content"),
    (
        "/memories/add",
        with_message(content=[{"type": "text", "text": "\udfff"}]),
        "messages.0.content",
    ),
    ("/memories/flush", {}, "session_id"),
    ("/resources", {}, "text"),
    ("/resources", {"text": " "}, "text"),
    ("/resources", {"text": "x", "title": 5}, "title"),
]


@pytest.mark.parametrize(("path", "fields", "field"), BAD)
async def test_ruling_26_bad_input_is_reported_by_its_field(
    ann: Person, path: str, fields: dict[str, Any], field: str
) -> None:
    body = json.dumps({**ann.credentials, **fields})
    answer = await ann.http.post(path, content=body)
    told = checked(answer, 400)
    assert told["message"].startswith(field), told
    assert told["code"] == "bad_request"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"5",
        b"null",
        b"\xff\xfe",
        b'{"a": 1} x',
        b'{"query": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"top_k": 1' + b"0" * 6000 + b"}",
    ],
)
async def test_ruling_26_a_body_that_is_not_an_object_is_refused(ann: Person, body: bytes) -> None:
    checked(await ann.http.post("/memories/search", content=body, auth=ann.basic), 400)


@pytest.mark.parametrize(
    "name", ["x", "", "018f3c2e", "018f3c2e7c4b7d5a9b1e2f6a4c8d0e11x", "%00", "%0A"]
)
async def test_ruling_26_a_bad_uuid_is_refused(ann: Person, name: str) -> None:
    for answer in (await ann.delete(f"/memories/{name}"), await ann.patch(name, "x")):
        checked(answer, 400 if name else 404)


@pytest.mark.parametrize("limit", ["0", "201", "x", "-1", "1.5", "true", ""])
async def test_ruling_26_bad_query_parameters_are_refused(ann: Person, limit: str) -> None:
    assert "limit" in checked(await ann.get("/resources", limit=limit), 400)["message"]
    assert "cursor" in checked(await ann.get("/resources", cursor="x" + limit), 400)["message"]
    assert "app_id" in checked(await ann.get("/resources", app_id=".."), 400)["message"]


@pytest.mark.parametrize("content", [b"5", b"null", b"{}", b"[]", b"[1, 1]", b'["x", 1]', b"x"])
async def test_ruling_26_a_made_up_cursor_is_refused(ann: Person, content: bytes) -> None:
    cursor = base64.urlsafe_b64encode(content).decode()
    assert "cursor" in checked(await ann.get("/resources", cursor=cursor), 400)["message"]


@pytest.mark.parametrize("name", ["%00", "x%00", "r_%00", "%FF", "r_1", "x%0A", "%0Ax"])
async def test_ruling_26_an_id_in_a_path_that_cannot_exist_is_not_found(
    gateway: Gateway, ann: Person, name: str
) -> None:
    checked(await ann.get(f"/resources/{name}"), 404)
    checked(await ann.delete(f"/resources/{name}"), 404)
    checked(await gateway.http.post(f"/users/{name}/rotate-key"), 404)
    checked(await ann.get(f"/users/{name}/export"), 403)


async def test_ruling_26_a_session_in_a_path_is_utf_8(ann: Person) -> None:
    await ann.add("\ufffd", message("tea"))
    for name in ("%FF", "%ED%A0%80"):
        assert "session_id" in checked(await ann.delete(f"/sessions/{name}"), 400)["message"]
    assert (await ann.delete("/sessions/%EF%BF%BD")).status_code == 204


@pytest.mark.parametrize(
    "name", ["a%0Ab", "%0A", "a%0A", "a%0D", "%00", "%7F", "%20", "%C2%85", ""]
)
async def test_ruling_26_a_session_in_a_path_is_a_valid_name(ann: Person, name: str) -> None:
    refusal = checked(await ann.delete(f"/sessions/{name}"), 400)
    assert refusal["details"]["field"] == "session_id"


@pytest.mark.parametrize("user_id", ["", ".", "..", "a b", "a/b", "é", "x" * 129, None, 5, "a\x00"])
async def test_ruling_26_a_bad_user_id_is_refused(gateway: Gateway, user_id: Any) -> None:
    answer = await gateway.http.post("/users", json={"user_id": user_id})
    assert "user_id" in checked(answer, 400)["message"]


async def test_ruling_26_unknown_fields_and_nulls_are_ignored(ann: Person) -> None:
    fields = {"session_id": "chat:1", "app_id": None, "more": {"a": [1]}}
    checked(await ann.post("/memories/add", messages=turn("Talk of tea"), **fields), 200)
    checked(await ann.post("/memories/flush", **fields), 200)
    nothing = dict.fromkeys(("conversation_id", "project_id", "top_k", "scope"))
    assert checked(await ann.post("/memories/search", query="tea", **nothing), 200)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/", 404),
        ("GET", "/health%0A", 404),
        ("POST", "/users%0A", 404),
        ("GET", "/memories/search", 405),
        ("PUT", "/memories/add", 405),
        ("DELETE", "/users", 405),
        ("POST", "/health", 405),
        ("HEAD", "/resources", 405),
        ("GET", "/users/x/rotate-key", 405),
        ("PUT", "/resources", 405),
    ],
)
async def test_every_refusal_carries_the_envelope(
    gateway: Gateway, method: str, path: str, status: int
) -> None:
    answer = await gateway.http.request(method, path)
    assert answer.status_code == status
    if method != "HEAD":
        checked(answer, status)
    if status == 405:
        assert answer.headers["allow"]


async def test_a_load_balancer_may_ask_for_the_health_with_head(gateway: Gateway) -> None:
    answer = await gateway.http.head("/health")
    assert (answer.status_code, answer.content) == (200, b"")


async def test_ruling_28_large_bodies_are_refused_before_they_are_read(ann: Person) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 65_536
            yield b" " * 65_536

    # JSON may take three bytes for one of the file, but not for these.
    for path, largest, limit in (
        ("/memories/add", 8 * 2**20, 8 * 2**20),
        ("/resources", 76 * 2**20, 26 * 2**20),
    ):
        stated = {"Content-Length": str(largest + 1)}
        answer = await ann.http.post(path, content=b"{}", headers=stated)
        assert checked(answer, 413)["code"] == "too_large"
        read = 0
        checked(await ann.http.post(path, content=endless()), 413)
        assert read <= limit + 2 * 65_536


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_ruling_28_only_an_upload_may_be_larger_than_8_mib(ann: Person, method: str) -> None:
    stated = {"Content-Length": str(8 * 2**20 + 1)}
    answer = await ann.http.request(method, "/resources", content=b"", headers=stated)
    assert checked(answer, 413)["code"] == "too_large"


async def test_ruling_28_a_form_is_limited_to_a_file_and_its_fields(ann: Person) -> None:
    stated = {
        "Content-Length": str(26 * 2**20 + 1),
        "Content-Type": "multipart/form-data; boundary=x",
    }
    answer = await ann.http.post("/resources", content=b"--x", headers=stated)
    assert checked(answer, 413)["code"] == "too_large"
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        while True:
            read += 65_536
            yield b" " * 65_536

    del stated["Content-Length"]
    checked(await ann.http.post("/resources", content=endless(), headers=stated), 413)
    assert read <= 26 * 2**20 + 2 * 65_536


async def test_ruling_28_a_body_of_almost_8_mib_is_read(ann: Person) -> None:
    answer = await ann.add("chat:1", message("tea " * (2 * 2**20 - 1000), "tool"))
    assert answer["message_count"] == 1


async def test_openapi_and_metrics_are_served(gateway: Gateway, ann: Person) -> None:
    await ann.say("chat:1", "Talk of tea")
    document: httpx.Response = await gateway.http.get("/openapi.json")
    assert document.json()["info"]["version"] == "1.0.0"
    metrics = (await gateway.http.get("/metrics")).text
    assert "memory_gateway_memories_written_total" in metrics
    assert 'memory_gateway_waiting{what="batches"}' in metrics
    assert ann.user_id not in metrics
