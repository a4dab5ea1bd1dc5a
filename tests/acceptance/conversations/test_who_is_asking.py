"""Rulings 1 to 6: who is calling, and what they may see."""

import uuid
from collections.abc import Callable

import httpx
import pytest

from tests.acceptance.command import Running
from tests.acceptance.conversations.people import AGENTS, Agent, Person, User
from tests.waiting import SECONDS


def test_ruling_01_a_user_endpoint_needs_a_token_and_ignores_an_api_key(
    server: Running, alice: User
) -> None:
    talk = alice.start("hello")
    nobody = Person(server.address, {})
    refused = nobody.send("GET", talk.user)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.json()["code"] == "unauthorized"
    assert refused.json()["error"] == refused.json()["message"]
    with_key_only = Person(server.address, {"x-api-key": AGENTS["bot"]})
    assert with_key_only.send("GET", talk.user).status_code == 401
    odd_key = Person(server.address, {**alice.headers, "x-api-key": "unknown"})
    assert odd_key.send("GET", talk.user).status_code == 200


@pytest.mark.parametrize("value", ["Bearer", "Basic YTpi", "", "Bearer " + "x" * 256])
def test_ruling_01_a_header_without_a_usable_token_is_401(server: Running, value: str) -> None:
    asking = Person(server.address, {"authorization": value})
    assert asking.send("GET", "/v1/user/conversations").status_code == 401


def send_twice(
    server: Running, path: str, name: str, values: tuple[str, str], **others: str
) -> httpx.Response:
    """A GET with one header twice."""
    headers = [*((name, value) for value in values), *others.items()]
    return httpx.get(f"{server.address}{path}", headers=headers, timeout=SECONDS)


def test_two_tokens_that_differ_are_refused(server: Running, alice: User, bob: User) -> None:
    talk = alice.start("hello")
    first, second = alice.headers["authorization"], bob.headers["authorization"]
    for values in ((first, second), (second, first), (first, "")):
        refused = send_twice(server, talk.user, "authorization", values)
        assert refused.status_code == 400
        assert refused.json()["details"]["field"] == "Authorization"
        assert bob.name not in refused.text
    assert send_twice(server, talk.user, "authorization", (first, first)).status_code == 200


def test_two_agent_keys_that_differ_are_refused(server: Running, alice: User) -> None:
    talk = alice.start("hello")
    path = f"{talk.agent}/context"
    key = AGENTS["bot"]
    for values in ((key, AGENTS["other"]), (key, "unknown"), ("unknown", key)):
        refused = send_twice(server, path, "x-api-key", values)
        assert refused.status_code == 400
        assert refused.json()["details"]["field"] == "X-API-Key"
        assert key not in refused.text
    assert send_twice(server, path, "x-api-key", (key, key)).status_code == 200
    # An endpoint for users does not look at keys.
    token = alice.headers["authorization"]
    answer = send_twice(server, talk.user, "x-api-key", (key, "unknown"), authorization=token)
    assert answer.status_code == 200


def test_ruling_02_an_agent_endpoint_needs_a_known_key(
    server: Running, alice: User, bot: Agent
) -> None:
    talk = alice.start("hello")
    path = f"{talk.agent}/context"
    assert Person(server.address, {}).send("GET", path).status_code == 401
    assert Person(server.address, {"x-api-key": "wrong"}).send("GET", path).status_code == 401
    refused = alice.send("GET", path)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    [said] = bot.says(talk, "hi")
    assert said["agentId"] == "bot"


def test_ruling_03_an_agent_acts_everywhere_or_for_a_user_with_that_users_level(
    server: Running, alice: User, bob: User, bot: Agent
) -> None:
    talk = alice.start("hello")
    assert bot.context(talk) == ["hello"]
    for_bob = Agent(server.address, "bot", on_behalf_of=bob.name)
    for_bob.get(f"{talk.agent}/context", 404)
    alice.share(talk, bob, "reader")
    assert for_bob.context(talk) == ["hello"]
    for_bob.says(talk, "no", expected=403)
    alice.share(talk, bob, "writer")
    [said] = for_bob.says(talk, "yes")
    assert said["userId"] == bob.name


def test_ruling_03_an_invalid_token_never_widens_access(server: Running, alice: User) -> None:
    talk = alice.start("hello")
    for value in ("Bearer", "nonsense", "", "Bearer " + "x" * 300):
        odd = Person(server.address, {"x-api-key": AGENTS["bot"], "authorization": value})
        assert odd.send("GET", f"{talk.agent}/context").status_code == 401, value


def test_ruling_04_strangers_get_404_before_anything_else_and_in_the_same_words(
    alice: User, bob: User
) -> None:
    talk = alice.start("hello")
    unknown = f"/v1/user/conversations/{uuid.uuid4()}"
    for path in (talk.user, unknown):
        got = bob.send("POST", f"{path}/messages?limit=x", content=b"{not json")
        assert got.status_code == 404
        assert bob.send("GET", f"{path}/messages?limit=x").status_code == 404
    words = {bob.get(path, 404)["message"] for path in (talk.user, unknown)}
    assert len(words) == 1
    bob.get("/v1/user/conversations/not-a-uuid", 404)
    answer = bob.get(unknown, 404)
    assert answer["details"]["resource"] == "conversation"
    assert answer["details"]["id"] == unknown.rpartition("/")[2]


def test_ruling_04_403_is_for_members_below_the_level(alice: User, bob: User) -> None:
    talk = alice.start("hello")
    alice.share(talk, bob, "reader")
    bob.post(f"{talk.user}/messages", {"content": "x"}, 403)
    assert bob.send("POST", f"{talk.user}/messages", content=b"{not json").status_code == 403


def test_ruling_05_a_user_id_in_a_path_is_decoded_once(server: Running, alice: User) -> None:
    odd = f"auth0|7/a%20b-{uuid.uuid4().hex}"
    talk = alice.start("hello")
    path = f"{talk.user}/memberships"
    alice.post(path, {"userId": odd, "accessLevel": "reader"})
    encoded = odd.replace("%", "%25").replace("|", "%7C").replace("/", "%2F")
    changed = alice.patch(f"{path}/{encoded}", {"accessLevel": "writer"})
    assert changed["userId"] == odd
    guest = User(server.address, odd)
    assert guest.get(talk.user)["accessLevel"] == "writer"
    alice.delete(f"{path}/{encoded}")
    guest.get(talk.user, 404)


@pytest.mark.parametrize("name", ["", "  ", "a\tb", "a\u0085b", "x" * 256, "\x00", 7, None])
def test_ruling_05_what_is_not_a_user_id(alice: User, name: object) -> None:
    talk = alice.start("hello")
    body = {"userId": name, "accessLevel": "reader"}
    refused = alice.post(f"{talk.user}/memberships", body, 400)
    assert refused["details"]["field"] == "userId"


def test_ruling_06_access_is_on_the_group_and_changes_hold_at_once_on_every_worker(
    server: Running, alice: User, user: Callable[[str], User]
) -> None:
    talk = alice.start("one", "two")
    second = alice.get(f"{talk.user}/messages")["data"][1]["id"]
    fork = alice.fork(talk, second, "another two")
    for round_ in range(10):
        guest = user(f"guest{round_}")
        # A connection each, so that both workers are asked.
        alice.share(talk, guest, "reader")
        for _ in range(4):
            with httpx.Client(
                base_url=server.address, headers=guest.headers, timeout=SECONDS
            ) as fresh_one:
                assert fresh_one.get(fork.user).status_code == 200
        alice.delete(f"{fork.user}/memberships/{guest.name}")
        for _ in range(4):
            with httpx.Client(
                base_url=server.address, headers=guest.headers, timeout=SECONDS
            ) as fresh_one:
                assert fresh_one.get(talk.user).status_code == 404
