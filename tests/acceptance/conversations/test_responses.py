"""Rulings 37 to 42: recording a response, following it, and what happens to one left alone."""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from tests.acceptance.command import Running, running
from tests.acceptance.conversations.conftest import COMMAND, KEYS
from tests.acceptance.conversations.people import Agent, Talk, User, fresh
from tests.conftest import database_url, execute
from tests.waiting import SECONDS


class Event:
    def __init__(self, lines: list[str]) -> None:
        fields = dict(line.split(": ", 1) for line in lines)
        self.id, self.name = fields["id"], fields["event"]
        self.data: dict[str, Any] = json.loads(fields["data"])


class Follower:
    """A client that follows a response in a thread of its own."""

    def __init__(
        self, address: str, user: User, talk: Talk, query: str = "", **headers: str
    ) -> None:
        self.events: list[Event] = []
        self.times: list[float] = []
        self.comments = 0
        self.status: int | None = None
        self._changed = threading.Condition()
        self._arguments = (address, user, talk, query, headers)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        address, user, talk, query, headers = self._arguments
        with (
            httpx.Client(base_url=address, timeout=SECONDS) as client,
            client.stream(
                "GET", f"{talk.user}/response{query}", headers={**user.headers, **headers}
            ) as answer,
        ):
            self._set(lambda: setattr(self, "status", answer.status_code))
            lines: list[str] = []
            for line in answer.iter_lines():
                if line.startswith(":"):
                    self.comments += 1
                elif line:
                    lines.append(line)
                elif lines:
                    event, lines = Event(lines), []
                    self._set(partial(self._add, event))

    def _add(self, event: Event) -> None:
        self.events.append(event)
        self.times.append(time.monotonic())

    def _set(self, change: Callable[[], None]) -> None:
        with self._changed:
            change()
            self._changed.notify_all()

    def wait(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, SECONDS), [e.name for e in self.events]

    @property
    def text(self) -> str:
        return "".join(it.data["content"] for it in self.events if it.name == "token")

    def wait_for_text(self, text: str) -> None:
        self.wait(lambda: self.text == text)

    def ended(self) -> dict[str, Any]:
        """The data of the end, once the stream is closed."""
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        assert self.events[-1].name == "end"
        return self.events[-1].data

    def closed(self) -> None:
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()


def test_ruling_37_offsets_count_characters(alice: User, bot: Agent) -> None:
    talk = alice.start("hello")
    answer = bot.records(talk)
    assert answer.made["status"] == "in_progress"
    assert answer.adds("a🎉é")["offset"] == 3
    assert answer.adds("b", offset=3)["offset"] == 4
    # A repeat is fine, anything else is told the truth.
    assert answer.adds("🎉é", offset=1)["offset"] == 4
    assert answer.adds("b", 409, offset=5)["details"]["offset"] == 4
    assert answer.adds("x", 409, offset=1)["details"]["offset"] == 4
    assert answer.adds("bc", 409, offset=3)["details"]["offset"] == 4
    assert answer.adds()["offset"] == 4
    for body in (
        {"offset": -1},
        {"offset": "1"},
        {"content": 5},
        {"complete": "yes"},
        {"error": 5},
        {"error": ["broken"]},
    ):
        [field] = body
        refused = bot.post(answer.path, body, 400)
        assert refused["details"]["field"] == field
    whole = alice.get(f"{talk.user}/response?stream=false")
    assert (whole["content"], whole["offset"]) == ("a🎉éb", 4)


def test_ruling_37_one_response_at_a_time_and_one_writer(
    alice: User, bot: Agent, other: Agent
) -> None:
    talk = alice.start("hello")
    first = bot.records(talk)
    first.adds("early")
    other.post(first.path, {"content": "x"}, 403)
    second = other.records(talk)
    assert first.adds("late", 409)["details"]["status"] == "superseded"
    assert second.adds("yes")["status"] == "in_progress"
    bot.post(f"{talk.agent}/response/{uuid.uuid4()}", {}, 404)
    bot.post(f"{talk.agent}/response/x", {}, 404)
    elsewhere = alice.start("elsewhere")
    other.post(f"{elsewhere.agent}/response/{second.id}", {"content": "x"}, 404)


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ({"complete": True}, "completed"),
        ({"content": "!", "offset": 5, "complete": True}, "completed"),
        ({"error": "the model broke"}, "failed"),
    ],
)
def test_ruling_37_an_end_can_be_repeated_and_nothing_else(
    alice: User, bot: Agent, ending: dict[str, Any], status: str
) -> None:
    talk = alice.start("hello")
    answer = bot.records(talk)
    answer.adds("hello")
    assert bot.post(answer.path, ending, 200)["status"] == status
    again = bot.post(answer.path, ending, 200)
    assert again["status"] == status
    assert again["offset"] == 5 + len(ending.get("content", ""))
    assert answer.adds("more", 409)["details"]["status"] == status
    assert bot.post(answer.path, {"content": "z", "complete": True}, 409)["details"] == {
        "status": status
    }


def test_ruling_37_an_empty_error_is_none(alice: User, bot: Agent) -> None:
    """Clients whose objects have every field send an empty one with every piece."""
    talk = alice.start("hello")
    answer = bot.records(talk)
    assert answer.adds("a", offset=0, complete=False, error="")["status"] == "in_progress"
    assert answer.adds("b", offset=1, complete=True, error="")["status"] == "completed"


def test_ruling_37_a_response_has_a_largest_size(alice: User, bot: Agent) -> None:
    talk = alice.start("hello")
    answer = bot.records(talk)
    answer.adds("x" * 4_194_304)
    assert answer.adds("y", 400)["details"]["field"] == "content"
    assert answer.adds()["offset"] == 4_194_304


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ({"content": "!", "offset": 7, "complete": True}, 409),
        ({"content": "?", "offset": 4, "error": "the model broke"}, 409),
        ({"content": "x" * 4_194_304, "complete": True}, 400),
    ],
)
def test_ruling_37_a_response_goes_on_after_an_end_that_was_refused(
    alice: User, bot: Agent, ending: dict[str, Any], status: int
) -> None:
    talk = alice.start("hello")
    answer = bot.records(talk)
    answer.adds("hello")
    details = bot.post(answer.path, ending, status)["details"]
    assert details == ({"offset": 5} if status == 409 else {"field": "content"})
    assert answer.adds(", ", offset=5)["offset"] == 7
    assert answer.adds("!", offset=7, complete=True)["status"] == "completed"
    assert alice.get(f"{talk.user}/response?stream=false")["content"] == "hello, !"


def test_ruling_38_events(server: Running, alice: User, bot: Agent) -> None:
    talk = alice.start("hello")
    assert alice.send("GET", f"{talk.user}/response").status_code == 204
    alice.get(f"{talk.user}/response?stream=false", 404)
    message = str(uuid.uuid4())
    answer = bot.records(talk, messageId=message)
    answer.adds("Hel")
    follower = Follower(server.address, alice, talk)
    follower.wait_for_text("Hel")
    answer.adds("lo")
    follower.wait_for_text("Hello")
    answer.adds(complete=True)
    assert follower.ended() == {"status": "completed", "offset": 5, "messageId": message}
    start, *tokens, end = follower.events
    assert start.name == "start"
    assert start.data == {
        "recordingId": answer.id,
        "status": "in_progress",
        "offset": 0,
        "messageId": message,
    }
    for token in tokens:
        assert token.name == "token"
        assert token.id == f"{answer.id}:{token.data['offset']}"
    assert end.id == f"{answer.id}:end"


def test_ruling_38_resuming_a_stream(server: Running, alice: User, bot: Agent) -> None:
    talk = alice.start("hello")
    older = bot.records(talk)
    older.adds("older", complete=True)
    answer = bot.records(talk)
    answer.adds("0123456789", complete=True)

    def text(query: str = "", **headers: str) -> str:
        follower = Follower(server.address, alice, talk, query, **headers)
        follower.ended()
        return follower.text

    assert text() == "0123456789"
    assert text("?offset=4") == "456789"
    last = {"last-event-id": f"{answer.id}:7"}
    assert text("?offset=4", **last) == "789"
    assert text(**{"last-event-id": f"{older.id}:3"}) == "0123456789"
    assert text(**{"last-event-id": f"{older.id}:end"}) == "0123456789"
    assert text(**{"last-event-id": "nonsense"}) == "0123456789"
    assert text("?offset=10") == ""
    refused = alice.get(f"{talk.user}/response?offset=11", 400)
    assert refused["details"]["field"] == "offset"
    alice.get(f"{talk.user}/response?offset=x", 400)
    beyond = alice.send(
        "GET", f"{talk.user}/response", headers={"last-event-id": f"{answer.id}:11"}
    )
    assert beyond.status_code == 400
    seen = alice.send("GET", f"{talk.user}/response", headers={"last-event-id": f"{answer.id}:end"})
    assert seen.status_code == 204
    part = alice.get(f"{talk.user}/response?stream=false&offset=8")
    assert (part["content"], part["offset"], part["status"]) == ("89", 10, "completed")


def test_ruling_38_asked_for_its_head_a_stream_ends_at_once(
    server: Running, alice: User, bot: Agent
) -> None:
    talk = alice.start("hello")
    bot.records(talk).adds("still talking")
    limits = httpx.Limits(max_connections=1)
    with httpx.Client(base_url=server.address, timeout=SECONDS, limits=limits) as client:
        head = client.head(f"{talk.user}/response", headers=alice.headers)
        assert head.headers["content-type"].startswith("text/event-stream")
        # The connection is free for the next request.
        assert client.get(talk.user, headers=alice.headers).status_code == 200


def test_ruling_39_text_reaches_clients_of_every_worker(
    server: Running, alice: User, bot: Agent
) -> None:
    talk = alice.start("hello")
    answer = bot.records(talk)
    followers = [Follower(server.address, alice, talk) for _ in range(6)]
    text = ""
    for piece in ("one ", "two ", "three ", "four"):
        answer.adds(piece)
        text += piece
        for follower in followers:
            follower.wait_for_text(text)
    answer.adds(complete=True)
    for follower in followers:
        follower.ended()
        assert follower.text == text


def test_ruling_39_nothing_recorded_after_a_revocation_reaches_the_revoked(
    server: Running, alice: User, bob: User, bot: Agent
) -> None:
    for _ in range(3):
        talk = alice.start("hello")
        alice.share(talk, bob, "reader")
        answer = bot.records(talk)
        answer.adds("open ")
        followers = [Follower(server.address, bob, talk) for _ in range(4)]
        for follower in followers:
            follower.wait_for_text("open ")
        alice.delete(f"{talk.user}/memberships/{bob.name}")
        answer.adds("secret")
        answer.adds(complete=True)
        for follower in followers:
            follower.closed()
            assert follower.text == "open "
            assert follower.events[-1].name != "end"


def test_ruling_39_a_revocation_ends_a_stream_while_nothing_is_recorded(
    server: Running, alice: User, bob: User, bot: Agent
) -> None:
    talk = alice.start("hello")
    alice.share(talk, bob, "reader")
    answer = bot.records(talk)
    answer.adds("open")
    followers = [Follower(server.address, it, talk) for it in (alice, bob, bob)]
    for follower in followers:
        follower.wait_for_text("open")
    alice.delete(f"{talk.user}/memberships/{bob.name}")
    for follower in followers[1:]:
        follower.closed()
        assert follower.events[-1].name == "token"
    answer.adds(" and on", complete=True)
    assert followers[0].ended()["status"] == "completed"
    assert followers[0].text == "open and on"


def test_a_stream_ends_when_its_token_expires(cluster: str, tmp_path: Path) -> None:
    secret = "a secret of more than thirty-two bytes"
    name = f"expiry_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')

    def alice(seconds: float) -> User:
        claims = {"sub": "alice", "exp": time.time() + seconds}
        return User(server.address, "alice", jwt.encode(claims, secret, algorithm="HS256"))

    with running(
        "--listen=127.0.0.1:0",
        "--plugin-url=http://127.0.0.1:9",
        f"--database-url={database_url(cluster, name)}",
        f"--data-dir={tmp_path}",
        environment={
            **KEYS,
            "MEMORY_CONVERSATIONS_JWT_SECRET": secret,
            "MEMORY_CONVERSATIONS_RESPONSE_IDLE_SECONDS": "600",
        },
        command=COMMAND,
    ) as server:
        talk = alice(600).start("hello")
        answer = Agent(server.address, "bot").records(talk)
        answer.adds("open")
        seconds = 2.0
        while True:
            follower = Follower(server.address, alice(seconds), talk)
            follower.closed()
            if follower.text:
                break
            seconds *= 2  # on a slow machine it may expire before anything is sent
        assert follower.events[-1].name == "token"
        # With a new token, the client resumes where it was.
        answer.adds(" and on", complete=True)
        last = {"last-event-id": follower.events[-1].id}
        resumed = Follower(server.address, alice(600), talk, **last)
        assert resumed.ended()["status"] == "completed"
        assert resumed.text == " and on"
    execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


def test_ruling_40_cancelling(alice: User, bob: User, bot: Agent) -> None:
    talk = alice.start("hello")
    cancel = f"{talk.user}/cancel-response"
    assert alice.post(cancel, None, 200) == {"accepted": False}
    answer = bot.records(talk)
    answer.adds("some text")
    alice.share(talk, bob, "reader")
    bob.post(cancel, None, 403)
    assert alice.post(cancel, None, 200) == {"accepted": True}
    assert answer.adds(" more")["cancelRequested"] is True
    assert answer.adds(complete=True)["status"] == "cancelled"
    assert alice.get(f"{talk.user}/response?stream=false")["content"] == "some text more"
    assert alice.post(cancel, None, 200) == {"accepted": False}


def test_ruling_40_without_the_agent_it_is_cancelled_after_ten_seconds(
    server: Running, alice: User, bot: Agent
) -> None:
    talk = alice.start("hello")
    answer = bot.records(talk, store=True)
    answer.adds("as far as it came")
    follower = Follower(server.address, alice, talk)
    follower.wait_for_text("as far as it came")
    asked = time.monotonic()
    alice.post(f"{talk.user}/cancel-response", None, 200)
    while not any(event.name == "end" for event in follower.events):
        # Kept alive: not the silence ends it.
        answered = bot.send("POST", answer.path, json={})
        assert answered.status_code in (200, 409)
        time.sleep(0.5)
        assert time.monotonic() - asked < SECONDS
    assert time.monotonic() - asked > 8
    assert follower.ended()["status"] == "cancelled"
    assert alice.reads(talk) == ["hello", "as far as it came"]


def test_ruling_40_which_conversations_have_a_response_in_progress(
    alice: User, bob: User, bot: Agent
) -> None:
    check = "/v1/user/conversations/resume-check"
    talks = [alice.start() for _ in range(3)]
    theirs = bob.start()
    for talk in (talks[2], talks[0], theirs):
        bot.records(talk)
    asked = [talk.id for talk in (talks[2], talks[1], theirs, talks[0], talks[2])]
    found = alice.post(check, {"conversationIds": [asked[0].upper(), *asked]}, 200)
    assert found == {"conversationIds": [talks[2].id, talks[0].id]}
    for bad in (None, "x", ["x"], [str(uuid.uuid4())] * 1001):
        alice.post(check, {"conversationIds": bad}, 400)
    assert alice.post(check, {"conversationIds": []}, 200) == {"conversationIds": []}


def test_ruling_41_silence_aborts_and_keeps_the_text(
    server: Running, alice: User, bot: Agent, fall_silent: Callable[[str], None]
) -> None:
    talk = alice.start("hello")
    answer = bot.records(talk, store=True)
    answer.adds("half an ans")
    follower = Follower(server.address, alice, talk)
    follower.wait_for_text("half an ans")
    fall_silent(answer.id)
    ended = follower.ended()
    assert ended["status"] == "aborted"
    assert answer.adds("wer", 409)["details"]["status"] == "aborted"
    # Whoever was told of the end finds the message.
    stored = alice.get(f"{talk.user}/messages?tail=true&limit=1")["data"][0]
    assert (stored["id"], stored["content"]) == (ended["messageId"], "half an ans")


def test_ruling_41_however_it_ends_the_text_is_stored(alice: User, bot: Agent) -> None:
    talk = alice.start("hello")
    message = str(uuid.uuid4())
    answer = bot.records(talk, store=True, messageId=message)
    answer.adds("complete")
    assert answer.adds(complete=True)["messageId"] == message
    failed = bot.records(talk, store=True)
    failed.adds("failed")
    failed.adds(error="broken")
    superseded = bot.records(talk, store=True)
    superseded.adds("superseded")
    blank = bot.records(talk, store=True)
    blank.adds(" \n")
    blank.adds(complete=True)
    assert alice.reads(talk) == ["hello", "complete", "failed", "superseded"]
    stored = alice.get(f"{talk.user}/messages")["data"][1]
    assert (stored["id"], stored["role"], stored["agentId"]) == (message, "assistant", "bot")
    bot.post(f"{talk.agent}/response", {"store": True, "messageId": message}, 409)
    unstored = bot.records(talk)
    unstored.adds("not stored", complete=True)
    assert len(alice.reads(talk)) == 4


@pytest.mark.parametrize("said", ["the answer", "another message"])
def test_ruling_41_what_the_agent_has_appended_itself_is_not_stored_twice(
    said: str, alice: User, bot: Agent
) -> None:
    talk = alice.start("hello")
    answer = bot.records(talk, store=True)
    answer.adds("the answer")
    message = answer.made["messageId"]
    bot.says(talk, {"content": said, "id": message})
    ended = answer.adds(complete=True)
    assert answer.adds(complete=True) == ended
    if said == "the answer":
        assert ended["messageId"] == message
        assert alice.reads(talk) == ["hello", "the answer"]
    else:
        # An answer is never lost, even if its id is taken.
        assert ended["messageId"] != message
        assert alice.reads(talk) == ["hello", "another message", "the answer"]


@pytest.fixture(scope="module")
def no_resumer(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that records nothing."""
    name = f"none_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    with running(
        "--dev-auth",
        "--listen=127.0.0.1:0",
        "--resumer=none",
        "--plugin-url=http://127.0.0.1:9",
        f"--database-url={database_url(cluster, name)}",
        f"--data-dir={tmp_path_factory.mktemp('none')}",
        environment=KEYS,
        command=COMMAND,
    ) as server:
        yield server.address
    execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


def test_ruling_42_without_a_resumer(no_resumer: str) -> None:
    alice, bot = User(no_resumer, fresh("alice")), Agent(no_resumer, "bot")
    bob = User(no_resumer, fresh("bob"))
    assert alice.get("/v1/health")["responseResumer"] == "none"
    talk = alice.start("hello")
    bot.post(f"{talk.agent}/response", {}, 409)
    bot.post(f"{talk.agent}/response/{uuid.uuid4()}", {}, 409)
    alice.post(f"{talk.user}/cancel-response", None, 409)
    assert alice.send("GET", f"{talk.user}/response").status_code == 204
    bob.get(f"{talk.user}/response", 404)
    check = alice.post("/v1/user/conversations/resume-check", {"conversationIds": [talk.id]}, 200)
    assert check == {"conversationIds": []}
