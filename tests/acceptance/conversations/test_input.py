"""Rulings 7 to 9: what is accepted, what is refused by name, and what comes back."""

import json
import socket
import uuid
from typing import Any

import pytest

from tests.acceptance.command import Running
from tests.acceptance.conversations.people import Agent, User

DEEP: Any = "bottom"
for _ in range(65):
    DEEP = {"in": DEEP}

BAD_MESSAGES = [
    ({}, "content"),
    ({"content": None}, "content"),
    ({"content": 7}, "content"),
    ({"content": []}, "content"),
    ({"content": " \n\t "}, "content"),
    ({"content": "a\x00b"}, "content"),
    ({"content": "x", "metadata": []}, "metadata"),
    ({"content": "x", "metadata": "x"}, "metadata"),
    ({"content": "x", "metadata": {"a": "\x00"}}, "metadata"),
    ({"content": "x", "metadata": {"a\x00": 1}}, "metadata"),
    ({"content": "x", "metadata": DEEP}, "metadata"),
    ({"content": "x", "metadata": {"a": "y" * 17_000}}, "metadata"),
    ({"content": "x", "id": "7"}, "id"),
    ({"content": "x", "id": 7}, "id"),
    ({"content": "x" * (4 * 2**20)}, "content"),
]


@pytest.mark.parametrize(("body", "field"), BAD_MESSAGES, ids=lambda it: str(it)[:40])
def test_ruling_07_a_bad_field_is_named_and_nothing_is_stored(
    alice: User, body: dict[str, Any], field: str
) -> None:
    talk = alice.start()
    refused = alice.post(f"{talk.user}/messages", body, 400)
    assert refused["code"] == "bad_request"
    assert refused["details"]["field"] == field
    assert alice.reads(talk) == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"content": "\\ud800"}', "content"),
        (b'{"content": "x", "metadata": {"a": NaN}}', "metadata"),
        (b'{"content": "x", "metadata": {"a": -Infinity}}', "metadata"),
        (b'{"content": NaN}', "content"),
        (b'{"content": "x"', "body"),
        (b'{"content": "\xff"}', "body"),
        (b"[" * 5000, "body"),
        (b"[]", "body"),
        (b'"x"', "body"),
        (b'{"content": "x"} trailing', "body"),
        (b'\xef\xbb\xbf{"content": "x"}', "body"),
    ],
)
def test_ruling_07_what_is_not_json_is_refused(alice: User, body: bytes, field: str) -> None:
    talk = alice.start()
    answer = alice.send("POST", f"{talk.user}/messages", content=body)
    assert answer.status_code == 400
    assert answer.json()["details"]["field"] == field


def test_ruling_07_a_byte_order_mark_is_named(alice: User) -> None:
    answer = alice.send("POST", "/v1/user/conversations", content=b"\xef\xbb\xbf{}")
    assert answer.status_code == 400
    assert "byte order mark" in answer.json()["message"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"content": "x", "extra": NaN}', "extra"),
        (b'{"content": "x", "extra": {"deep": [1, Infinity]}}', "extra"),
        (b'{"content": "x", "extra": [0, -Infinity]}', "extra[1]"),
        (b'{"content": "x", "extra": %b}' % (b"[" * 65 + b"]" * 65), "extra[0]"),
        (b'{"content": "x", "extra": %b1%b}' % (b'{"a":' * 65, b"}" * 65), "extra"),
        (b'{"content": "x", "messages": [{"extra": NaN}]}', "messages[0].extra"),
        (b'{"content": "x", "newMessage": {"extra": NaN}}', "newMessage.extra"),
        (b'{"content": "x", "\\ud800": NaN}', "?"),
    ],
)
def test_ruling_07_a_field_that_no_endpoint_reads_must_be_json_too(
    alice: User, body: bytes, field: str
) -> None:
    talk = alice.start()
    answer = alice.send("POST", f"{talk.user}/messages", content=body)
    assert answer.status_code == 400
    assert answer.json()["details"]["field"] == field
    assert alice.reads(talk) == []


def test_ruling_07_thousands_of_levels_are_refused_wherever_they_are(alice: User) -> None:
    talk = alice.start()
    for levels in (65, 900, 5000, 100_000):
        body = b'{"content": "x", "extra": %b}' % (b"[" * levels + b"]" * levels)
        answer = alice.send("POST", f"{talk.user}/messages", content=body)
        assert answer.status_code == 400, levels
        assert "nested" in answer.json()["message"]


def test_an_unknown_field_is_ignored(alice: User) -> None:
    talk = alice.start()
    extra = {"n": [1.5, None, {"deep": "x"}], "text": "\x00"}
    assert alice.say(talk, "hello", extra=extra)["content"] == "hello"


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=1001",
        "limit=x",
        "limit=1.5",
        "limit=-1",
        "after=x",
        "before=7",
        "tail=maybe",
        "scope=all",
    ],
)
def test_ruling_07_a_bad_parameter_is_named(alice: User, query: str) -> None:
    talk = alice.start("hello")
    refused = alice.get(f"{talk.user}/messages?{query}", 400)
    assert refused["details"]["field"] == query.partition("=")[0]


@pytest.mark.parametrize(
    "query",
    ["limit=201", "after=%20", "after=AAAA", "after=%F0%9F", "mode=x", "query=" + "x" * 1001],
)
def test_ruling_07_a_bad_parameter_of_the_list_is_named(alice: User, query: str) -> None:
    refused = alice.get(f"/v1/user/conversations?{query}", 400)
    assert refused["details"]["field"] == query.partition("=")[0]


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"content": "x", "role": "boss"}, "role"),
        ({"content": "x", "visibility": "nobody"}, "visibility"),
        ({"content": "x", "channel": "SUMMARY"}, "channel"),
        ({"content": "x", "channel": "OTHER"}, "channel"),
        ({"content": "x", "channel": "h\u0131story"}, "channel"),
        ({"content": "x", "channel": "MEMORY", "visibility": "user"}, "visibility"),
        ({"content": "x", "parentMessageId": "x"}, "parentMessageId"),
        ({"content": "x", "userId": ""}, "userId"),
        ({"content": [{"type": "text"}]}, "content[0].text"),
        ({"content": ["x"]}, "content[0]"),
        ({"content": [{"type": "text", "text": " "}]}, "content"),
        ({"content": [{}] * 1001}, "content"),
    ],
)
def test_ruling_07_a_bad_message_is_named_by_its_place(
    alice: User, bot: Agent, message: dict[str, Any], field: str
) -> None:
    talk = alice.start()
    messages = [{"content": "fine"}, {"content": "fine"}, message]
    refused = bot.post(f"{talk.agent}/messages", {"messages": messages}, 400)
    assert refused["details"]["field"] == f"messages[2].{field}"
    assert alice.reads(talk) == []


def test_ruling_07_numbers_of_any_size_come_back_as_sent(alice: User, bot: Agent) -> None:
    numbers = (
        "[1e400,-0.0,1.0,123456789012345678901234567890,0.1000000000000000055511151231257827,1E5]"
    )
    talk = alice.start()
    body = f'{{"content":"x","metadata":{{"n":{numbers}}}}}'.encode()
    assert numbers.encode() in alice.send("POST", f"{talk.user}/messages", content=body).content
    assert numbers.encode() in alice.send("GET", f"{talk.user}/messages").content
    part = f'{{"messages":[{{"content":[{{"type":"data","n":{numbers}}}]}}]}}'.encode()
    assert bot.send("POST", f"{talk.agent}/messages", content=part).status_code == 201
    assert alice.send("GET", f"{talk.user}/messages").content.count(numbers.encode()) == 2
    made = f'{{"metadata":{{"n":{numbers}}}}}'.encode()
    answer = alice.send("POST", "/v1/user/conversations", content=made)
    path = f"/v1/user/conversations/{answer.json()['id']}"
    assert numbers.encode() in alice.send("GET", path).content


def test_ruling_07_64_levels_are_fine(alice: User) -> None:
    deep: Any = DEEP["in"]
    talk = alice.start(metadata=deep)
    assert alice.get(talk.user)["metadata"] == deep


def test_a_body_over_16_mib_is_refused_by_its_stated_length(server: Running, alice: User) -> None:
    talk = alice.start()
    host, port = server.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        head = [
            f"POST {talk.user}/messages HTTP/1.1",
            f"host: {host}",
            f"authorization: Bearer {alice.name}",
            f"content-length: {16 * 2**20 + 1}",
        ]
        # Not a byte of the body is sent, and the answer comes all the same.
        connection.sendall("\r\n".join([*head, "", ""]).encode())
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 413")
    assert b'"code":"bad_request"' in answer


def test_what_is_not_http_gets_an_error_object_too(server: Running) -> None:
    host, port = server.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(b"GET /v1/health HTTP/1.1\r\nno colon\r\n\r\n")
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    error = json.loads(body)
    assert error["code"] == "bad_request"
    assert error["error"] == error["message"]


def test_an_unknown_path_and_a_wrong_method(alice: User) -> None:
    assert alice.send("GET", "/v1/user/nothing").json()["code"] == "not_found"
    answer = alice.send("PUT", "/v1/user/conversations")
    assert (answer.status_code, answer.json()["code"]) == (405, "bad_request")
    assert "GET" in answer.headers["allow"]


def test_ruling_08_an_id_makes_an_append_safe_to_repeat(alice: User, bob: User) -> None:
    talk, elsewhere = alice.start(), alice.start()
    key = str(uuid.uuid4())
    first = alice.say(talk, "once", id=key.upper())
    assert first["id"] == key
    path = f"{talk.user}/messages"
    assert alice.post(path, {"content": "once", "id": key}, 200) == first
    alice.post(path, {"content": "twice", "id": key}, 409)
    alice.post(f"{elsewhere.user}/messages", {"content": "once", "id": key}, 409)
    alice.share(talk, bob, "writer")
    bob.post(path, {"content": "once", "id": key}, 409)
    assert alice.reads(talk) == ["once"]
    assert alice.reads(elsewhere) == []


def test_ruling_08_a_list_of_messages_is_safe_to_repeat(alice: User, bot: Agent) -> None:
    talk = alice.start()
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    part = [{"type": "text", "text": "hi"}, {"b": 1, "a": [2.0]}]
    messages = [{"content": part, "id": first}, {"content": "two", "id": second}]
    stored = bot.says(talk, *messages)
    assert bot.says(talk, *messages, expected=200) == stored
    # Keys in another order are the same content.
    again = {"content": [part[0], {"a": [2.0], "b": 1}], "id": first}
    assert bot.says(talk, again, expected=200) == stored[:1]
    changed = {"content": "other", "id": second}
    bot.says(talk, messages[0], changed, expected=409)
    bot.says(talk, {"content": "new"}, changed, expected=409)
    refused = bot.post(f"{talk.agent}/messages", {"messages": [messages[0], messages[0]]}, 400)
    assert refused["details"]["field"] == "messages[1].id"
    assert len(alice.reads(talk)) == 2


def test_ruling_08_memory_is_safe_to_repeat(alice: User, bot: Agent) -> None:
    talk = alice.start()
    memory = {"content": "note", "channel": "memory", "id": str(uuid.uuid4())}
    stored = bot.says(talk, memory)
    assert bot.says(talk, memory, expected=200) == stored
    bot.says(talk, {**memory, "content": "other"}, expected=409)


def test_ruling_08_a_fork_is_safe_to_repeat(alice: User) -> None:
    talk = alice.start("one", "two")
    two = alice.get(f"{talk.user}/messages")["data"][1]["id"]
    body = {"newMessage": {"content": "other two", "id": str(uuid.uuid4())}}
    path = f"{talk.user}/messages/{two}/fork"
    made = alice.post(path, body)
    again = alice.post(path, body, 200)
    assert again["id"] == made["id"]
    body["newMessage"]["content"] = "yet another"
    alice.post(path, body, 409)
    assert len(alice.get(f"{talk.user}/forks")["data"]) == 2


def test_ruling_08_a_conversations_id_is_safe_to_repeat(alice: User, bob: User) -> None:
    key = str(uuid.uuid4())
    made = alice.post("/v1/user/conversations", {"id": key.upper(), "title": "mine"})
    assert made["id"] == key
    assert alice.post("/v1/user/conversations", {"id": key, "title": "mine"}, 200) == made
    bob.post("/v1/user/conversations", {"id": key}, 409)


def test_ruling_09_content_and_metadata_come_back_as_sent(alice: User, bot: Agent) -> None:
    talk = alice.start(metadata={"z": 1, "a": {"ключ": ["значение", None, True]}})
    assert alice.get(talk.user)["metadata"] == {"z": 1, "a": {"ключ": ["значение", None, True]}}
    text = "  two\r\nlines\u2028and 🎉  "
    said = alice.say(talk, text, metadata={"k": "v"})
    parts = [{"type": "text", "text": "x"}, {"type": "image", "url": "u", "n": None}]
    [listed] = bot.says(talk, {"content": parts, "metadata": {}})
    page = alice.get(f"{talk.user}/messages")["data"]
    assert page == [said, listed]
    assert page[0]["content"] == text
    assert page[1]["content"] == parts
    assert json.dumps(page[1]["metadata"]) == "{}"


def test_ruling_09_a_blank_title_counts_as_null(alice: User) -> None:
    talk = alice.start(title="  ")
    assert talk.made["title"] is None
    alice.say(talk, "named by its message")
    assert alice.get(talk.user)["title"] == "named by its message"


def test_an_empty_body_counts_as_an_empty_object_whatever_its_type(alice: User) -> None:
    answer = alice.send(
        "POST", "/v1/user/conversations", content=b"", headers={"content-type": "text/plain"}
    )
    assert answer.status_code == 201
