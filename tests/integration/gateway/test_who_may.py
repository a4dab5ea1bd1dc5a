"""Rulings 1 to 5: who may do what."""

import asyncio
import base64
import hmac
import re
from typing import Any

import asyncpg
import httpx
import pytest

from gateway.credentials import hash_key
from gateway.statements import load
from postgres.database import Database
from tests.integration.gateway import people
from tests.integration.gateway.people import Gateway, Person, checked, message
from tests.integration.gateway.plugin import Switchboard

pytestmark = pytest.mark.anyio

TOKEN = "admin-token-for-tests"


def basic(person: Person) -> str:
    return "Basic " + base64.b64encode(":".join(person.basic).encode()).decode()


def bearer(token: str = TOKEN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_ruling_1_credentials_come_in_the_body_the_form_or_as_basic(ann: Person) -> None:
    search = {"query": "tea"}
    in_body = await ann.http.post("/memories/search", json={**search, **ann.credentials})
    as_basic = await ann.http.post("/memories/search", json=search, auth=ann.basic)
    twice = await ann.http.post(
        "/memories/search", json={**search, **ann.credentials}, auth=ann.basic
    )
    in_form = await ann.upload_file("a.txt", b"Some text.", "text/plain")
    in_a_delete = await ann.http.request("DELETE", "/sessions/none", json=ann.credentials)
    assert [it.status_code for it in (in_body, as_basic, twice, in_form)] == [200, 200, 200, 201]
    assert in_a_delete.status_code == 404


@pytest.mark.parametrize("field", ["user_id", "user_key"])
async def test_ruling_1_given_twice_they_must_be_the_same(ann: Person, field: str) -> None:
    body = {"query": "tea", **ann.credentials, field: "another"}
    answer = await ann.http.post("/memories/search", json=body, auth=ann.basic)
    assert field in checked(answer, 400)["message"]
    form = {**ann.credentials, field: ["another", ann.credentials[field]]}
    answer = await ann.http.post("/resources", data=form, files={"file": ("a.txt", b"Tea")})
    assert field in checked(answer, 400)["message"]


async def test_ruling_1_two_headers_must_be_the_same(ann: Person, bob: Person) -> None:
    own, other = basic(ann), basic(bob)
    for second, status in ((own, 200), (other, 400)):
        headers = [("Authorization", own), ("Authorization", second)]
        checked(await ann.http.get("/resources", headers=headers), status)
    headers = [("Idempotency-Key", "one"), ("Idempotency-Key", "two")]
    fields = {"session_id": "chat:1", "messages": [message("tea")]}
    assert (
        "Idempotency-Key"
        in checked(await ann.post("/memories/add", headers, **fields), 400)["message"]
    )


@pytest.mark.parametrize("field", ["user_id", "user_key"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/memories/search"),
        ("GET", "/resources"),
        ("POST", "/resources"),
        ("DELETE", "/users/somebody"),
        ("GET", "/users/somebody/export"),
        ("POST", "/users"),
    ],
)
async def test_ruling_1_in_the_url_they_are_refused(
    ann: Person, method: str, path: str, field: str
) -> None:
    answer = await ann.http.request(
        method, path, params={field: ann.credentials[field]}, auth=ann.basic
    )
    assert field in checked(answer, 400)["message"]
    assert ann.key not in answer.text


async def test_ruling_2_with_a_token_the_admin_needs_it(store: str, plugin: Switchboard) -> None:
    async with people.gateway(
        store, plugin.client(), address="203.0.113.7", admin_token=TOKEN
    ) as gateway:
        post = gateway.http.post
        ann = people.new_name()
        for headers in ({}, bearer("wrong"), {"Authorization": "Basic " + TOKEN}):
            answer = await post("/users", json={"user_id": ann}, headers=headers)
            checked(answer, 401)
            assert answer.headers["www-authenticate"]
        checked(await post("/users", json={"user_id": ann}, headers=bearer()), 201)
        checked(await post(f"/users/{ann}/rotate-key", headers=bearer()), 200)
        checked(await gateway.http.get("/metrics"), 401)
        assert (await gateway.http.get("/metrics", headers=bearer())).status_code == 200
        exported = await gateway.http.get(f"/users/{ann}/export", headers=bearer())
        assert exported.status_code == 200
        assert (await gateway.http.delete(f"/users/{ann}", headers=bearer())).status_code == 204
        checked(await gateway.http.delete(f"/users/{ann}", headers=bearer()), 404)
        checked(await gateway.http.get(f"/users/{ann}/export", headers=bearer()), 404)


async def test_ruling_2_with_a_token_loopback_is_not_enough(
    store: str, plugin: Switchboard
) -> None:
    async with people.gateway(store, plugin.client(), admin_token=TOKEN) as gateway:
        checked(await gateway.http.post("/users", json={"user_id": people.new_name()}), 401)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", ""])
async def test_ruling_2_without_a_token_the_admin_is_on_this_machine(
    store: str, plugin: Switchboard, address: str
) -> None:
    async with people.gateway(store, plugin.client(), address=address) as gateway:
        checked(await gateway.http.post("/users", json={"user_id": people.new_name()}), 201)


@pytest.mark.parametrize("address", ["203.0.113.7", "10.0.0.1", "2001:db8::1", "nonsense"])
async def test_ruling_2_without_a_token_others_are_refused(
    store: str, plugin: Switchboard, address: str
) -> None:
    async with people.gateway(store, plugin.client(), address=address) as gateway:
        checked(await gateway.http.post("/users", json={"user_id": people.new_name()}), 403)
        checked(await gateway.http.post("/users/ann/rotate-key"), 403)


@pytest.mark.parametrize("name", ["Origin", "Forwarded", "X-Forwarded-For", "X-Forwarded-Anything"])
async def test_ruling_2_forwarded_requests_are_refused(gateway: Gateway, name: str) -> None:
    answer = await gateway.http.post(
        "/users", json={"user_id": people.new_name()}, headers={name: "x"}
    )
    checked(answer, 403)


async def test_ruling_2_loopback_alone_neither_reads_nor_deletes(ann: Person) -> None:
    checked(await ann.http.get(f"/users/{ann.user_id}/export"), 401)
    checked(await ann.http.delete(f"/users/{ann.user_id}"), 401)
    checked(await ann.http.delete(f"/users/{ann.user_id}", headers=bearer()), 401)
    assert (await ann.get(f"/users/{ann.user_id}/export")).status_code == 200
    assert (await ann.delete(f"/users/{ann.user_id}")).status_code == 204


async def test_ruling_3_a_key_is_handed_out_once(gateway: Gateway) -> None:
    name = people.new_name()
    first = checked(await gateway.http.post("/users", json={"user_id": name}), 201)
    assert re.fullmatch(r"uk_[A-Za-z0-9_-]{43}", first["user_key"])
    assert set(first) == {"user_id", "user_key", "created_at"}
    checked(await gateway.http.post("/users", json={"user_id": name}), 409)
    ann = Person(gateway.http, name, first["user_key"])
    assert await ann.search("tea") == []


async def test_ruling_3_of_parallel_creations_one_succeeds(gateway: Gateway) -> None:
    body = {"user_id": people.new_name()}
    answers = await asyncio.gather(*(gateway.http.post("/users", json=body) for _ in range(12)))
    assert sorted(it.status_code for it in answers) == [201] + [409] * 11


async def test_ruling_3_rotating_replaces_the_key_in_every_worker(
    store: str, plugin: Switchboard, ann: Person
) -> None:
    async with people.gateway(store, plugin.client()) as other:
        there = Person(other.http, ann.user_id, ann.key)
        for known in (ann, there):
            assert await known.search("tea") == []
            await known.add("chat:1", message("hi"))
        new = checked(await ann.http.post(f"/users/{ann.user_id}/rotate-key"), 200)["user_key"]
        for old in (ann, there):
            checked(await old.post("/memories/search", query="tea"), 401)
            hi = message("hi")
            refused = await old.post("/memories/add", session_id="chat:1", messages=[hi])
            checked(refused, 401)
            checked(await old.post("/memories/flush", session_id="chat:1"), 401)
            now = Person(old.http, ann.user_id, new)
            assert await now.search("tea") == []
            assert (await now.add("chat:1", hi))["duplicate_count"] == 0
    checked(await ann.http.post("/users/nobody/rotate-key"), 404)


async def test_ruling_3_only_a_hash_of_the_key_is_stored(store: str, ann: Person) -> None:
    await ann.say("s", f"My key is {ann.key}")
    connection = await asyncpg.connect(store)
    try:
        tables = await connection.fetch(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'memory_gateway'"
        )
        for (table,) in tables:
            rows = await connection.fetch(f"SELECT t::text FROM memory_gateway.{table} AS t")
            assert not any(ann.key in row[0] for row in rows), table
    finally:
        await connection.close()


def wrong_credentials(ann: Person, gone: str) -> list[dict[str, Any]]:
    other = "uk_" + "A" * 43
    return [
        {},
        {"user_id": ann.user_id},
        {"user_key": ann.key},
        {"user_id": "", "user_key": ann.key},
        {"user_id": ann.user_id, "user_key": ""},
        {"user_id": None, "user_key": None},
        {"user_id": ann.user_id, "user_key": other},
        {"user_id": ann.user_id, "user_key": ann.key + "x"},
        {"user_id": ann.user_id.upper(), "user_key": ann.key},
        {"user_id": "nobody", "user_key": ann.key},
        {"user_id": "no such name!", "user_key": ann.key},
        {"user_id": gone, "user_key": other},
    ]


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/memories/search", {"query": "tea"}),
        ("/memories/add", {"session_id": "s", "messages": [message("hi")]}),
        ("/memories/flush", {"session_id": "s"}),
        ("/resources", {"text": "Some text."}),
    ],
)
async def test_ruling_4_wrong_credentials_are_answered_with_the_same_bytes(
    gateway: Gateway, ann: Person, path: str, fields: dict[str, Any]
) -> None:
    gone = await gateway.person()
    await gone.delete(f"/users/{gone.user_id}")
    answers = [
        await ann.http.post(path, json={**fields, **wrong})
        for wrong in wrong_credentials(ann, gone.user_id)
    ]
    answers.append(await ann.http.post(path, json=fields, auth=(ann.user_id, "wrong")))
    for encoded in (
        "!!!",
        base64.b64encode(b"no colon").decode(),
        base64.b64encode(b"\xff:\xff").decode(),
    ):
        headers = {"Authorization": f"Basic {encoded}"}
        answers.append(await ann.http.post(path, json=fields, headers=headers))
    for answer in answers:
        checked(answer, 401)
        assert answer.headers["www-authenticate"] == answers[0].headers["www-authenticate"]
    assert {it.content for it in answers} == {answers[0].content}


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/memories/search", {"query": "tea", "scope": ["all_user_memory"]}),
        ("/memories/add", {"session_id": "s", "messages": [message("hi")]}),
        ("/memories/flush", {"session_id": "s"}),
        ("/resources", {"text": "Some text."}),
    ],
)
async def test_ruling_4_wrong_credentials_take_the_same_work(
    gateway: Gateway,
    ann: Person,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    fields: dict[str, Any],
) -> None:
    """Each is looked for in the database once, and compared: no case is told by its time."""
    await ann.say("chat:1", "Talk of tea")
    gone = await gateway.person()
    await gone.delete(f"/users/{gone.user_id}")
    asked: list[str] = []
    compared: list[tuple[bytes, bytes]] = []
    fetch, fetchrow, compare = Database.fetch, Database.fetchrow, hmac.compare_digest

    async def noted_fetch(self: Database, query: str, *arguments: object) -> Any:
        asked.append(query)
        return await fetch(self, query, *arguments)

    async def noted_fetchrow(self: Database, query: str, *arguments: object) -> Any:
        asked.append(query)
        return await fetchrow(self, query, *arguments)

    def noted_compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(Database, "fetch", noted_fetch)
    monkeypatch.setattr(Database, "fetchrow", noted_fetchrow)
    monkeypatch.setattr("gateway.users.hmac.compare_digest", noted_compare)
    looking = {load(it) for it in ("find_users", "find_scope", "find_session")}
    for wrong in wrong_credentials(ann, gone.user_id):
        asked.clear()
        compared.clear()
        checked(await ann.http.post(path, json={**fields, **wrong}), 401)
        assert sum(query in looking for query in asked) == 1, wrong
        assert compared, wrong
        assert all(len(one) == len(other) == 32 for one, other in compared), wrong


async def test_ruling_4_a_wrong_key_does_not_tell_how_many_sessions_a_user_has(
    store: str, ann: Person
) -> None:
    await ann.say("chat:1", "Talk of tea")
    connection = await asyncpg.connect(store, server_settings={"search_path": "memory_gateway"})
    try:
        place = (ann.user_id, "default", "default", None, False, True)
        for key, count in ((hash_key(ann.key), 1), (hash_key("wrong"), 0)):
            row = await connection.fetchrow(load("find_scope"), *place, key)
            assert row is not None
            assert len(row["namespaces"]) == count
    finally:
        await connection.close()


@pytest.mark.parametrize(
    ("method", "path", "fields", "headers"),
    [
        ("POST", "/memories/search", {"query": 5}, {}),
        ("POST", "/memories/add", {"session_id": 5}, {}),
        (
            "POST",
            "/memories/add",
            {"session_id": "s", "messages": [message("hi")]},
            {"Idempotency-Key": ""},
        ),
        ("POST", "/memories/flush", {}, {}),
        ("POST", "/resources", {"text": 5}, {}),
        ("PATCH", "/memories/x", {"text": 5}, {}),
        ("DELETE", "/memories/x", {}, {}),
        ("DELETE", "/sessions/resource:x", {}, {}),
        ("GET", "/resources?limit=0", {}, {}),
    ],
)
async def test_ruling_4_wrong_credentials_are_refused_before_the_rest_of_a_request(
    ann: Person, method: str, path: str, fields: dict[str, Any], headers: dict[str, str]
) -> None:
    answers = [
        await ann.http.request(method, path, json=fields, headers=headers),
        await ann.http.request(
            method, path, json=fields, headers=headers, auth=(ann.user_id, "wrong")
        ),
    ]
    assert [it.status_code for it in answers] == [401, 401]
    assert answers[0].content == answers[1].content
    checked(await ann.http.request(method, path, json=fields, headers=headers, auth=ann.basic), 400)


@pytest.mark.parametrize("value", [1, True, 2.5, ["a"], {"a": 1}])
@pytest.mark.parametrize("field", ["user_id", "user_key"])
async def test_ruling_4_credentials_that_are_not_strings_are_bad_requests(
    ann: Person, field: str, value: Any
) -> None:
    body = {"query": "tea", **ann.credentials, field: value}
    answer = await ann.http.post("/memories/search", json=body)
    assert field in checked(answer, 400)["message"]


async def test_ruling_4_another_user_in_the_path_is_forbidden(ann: Person, bob: Person) -> None:
    for name in (bob.user_id, "nobody"):
        checked(await ann.delete(f"/users/{name}"), 403)
        checked(await ann.get(f"/users/{name}/export"), 403)
    assert await bob.search("tea") == []


async def test_ruling_4_what_belongs_to_somebody_else_does_not_exist(
    ann: Person, bob: Person
) -> None:
    await ann.say("chat:1", "Talk of green tea")
    resource = await ann.upload("Green tea is a drink.")
    [memory] = await ann.search("tea", conversation_id="1", scope=["current_chat"])
    for answer in (
        await bob.patch(memory["id"], "Talk of coffee"),
        await bob.delete(f"/memories/{memory['id']}"),
        await bob.delete("/sessions/chat:1"),
        await bob.get(f"/resources/{resource['resource_id']}"),
        await bob.delete(f"/resources/{resource['resource_id']}"),
    ):
        checked(answer, 404)
    assert await bob.search("tea") == []
    assert len(await ann.search("tea")) == 2


async def test_ruling_5_keys_queries_and_contents_are_never_exposed(
    ann: Person, caplog: pytest.LogCaptureFixture, plugin: Switchboard
) -> None:
    caplog.set_level("DEBUG")
    wrong = "uk_" + "W" * 43
    await ann.say("chat:1", f"CANARYCONTENT and my keys are {ann.key} and {wrong}")
    answers: list[httpx.Response] = [
        await ann.post("/memories/search", query="CANARYQUERY", scope=["all_user_memory"]),
        await ann.http.post(
            "/memories/search", json={"query": "q", "user_id": ann.user_id, "user_key": wrong}
        ),
        await ann.http.post("/memories/search", json={"query": 5, **ann.credentials}),
        await ann.http.post("/memories/search", content=f'{{"user_key": "{ann.key}"'),
        await ann.http.get(f"/nothing/{ann.key}"),
        await ann.get(f"/users/{ann.user_id}/export"),
        await ann.http.get("/metrics"),
        await ann.http.get("/openapi.json"),
    ]
    plugin.is_down = True
    answers.append(
        await ann.post("/memories/search", query="CANARYQUERY", scope=["all_user_memory"])
    )
    assert answers[-1].status_code == 503
    for answer in answers:
        assert ann.key not in answer.text
        assert wrong not in answer.text
        assert "CANARYQUERY" not in answer.text
    ours = ("gateway", "serving", "postgres", "contract")
    logged = "".join(str(it.__dict__) for it in caplog.records if it.name.startswith(ours))
    for secret in (ann.key, wrong, "CANARYQUERY", "CANARYCONTENT"):
        assert secret not in logged
    assert not any(ann.key in text or wrong in text for text in plugin.texts(ann.user_id))
