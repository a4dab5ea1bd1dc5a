"""Rulings 26 to 29: members and the transfer of ownership."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.acceptance.command import Running
from tests.acceptance.conversations.people import User
from tests.waiting import SECONDS

TRANSFERS = "/v1/user/ownership-transfers"


def test_ruling_26_any_member_lists_the_members(alice: User, bob: User) -> None:
    talk = alice.start("hello")
    carol = f"carol-{uuid.uuid4()}"
    alice.post(f"{talk.user}/memberships", {"userId": carol, "accessLevel": "manager"})
    alice.share(talk, bob, "reader")
    found = bob.get(f"{talk.user}/memberships")["data"]
    assert [(it["userId"], it["accessLevel"]) for it in found] == [
        (alice.name, "owner"),
        (carol, "manager"),
        (bob.name, "reader"),
    ]
    assert {it["conversationId"] for it in found} == {talk.id}


def test_ruling_27_sharing_changing_and_leaving(
    alice: User, bob: User, user: Callable[[str], User]
) -> None:
    talk = alice.start("hello")
    path = f"{talk.user}/memberships"
    alice.post(path, {"userId": bob.name, "accessLevel": "reader"}, 201)
    again = alice.post(path, {"userId": bob.name, "accessLevel": "writer"}, 200)
    assert again["accessLevel"] == "writer"
    alice.post(path, {"userId": bob.name, "accessLevel": "owner"}, 400)
    alice.patch(f"{path}/{bob.name}", {"accessLevel": "owner"}, 400)
    alice.patch(f"{path}/{bob.name}", {"accessLevel": "manager"}, 200)
    # A manager shares, but not even the owner's membership can be touched.
    carol = user("carol")
    bob.share(talk, carol, "reader")
    for who in (alice, bob):
        who.post(path, {"userId": alice.name, "accessLevel": "reader"}, 409)
        who.patch(f"{path}/{alice.name}", {"accessLevel": "reader"}, 409)
        who.delete(f"{path}/{alice.name}", 409)
    alice.patch(f"{path}/nobody", {"accessLevel": "reader"}, 404)
    alice.delete(f"{path}/nobody", 404)
    carol.delete(f"{path}/{bob.name}", 403)
    carol.delete(f"{path}/{carol.name}")
    carol.get(talk.user, 404)
    bob.delete(f"{path}/{bob.name}")
    bob.get(talk.user, 404)


def test_ruling_28_a_transfer_is_offered_once(alice: User, bob: User) -> None:
    talk = alice.start("hello", title="Ours")
    path = f"{talk.user}/transfer-ownership"
    alice.post(path, {"newOwnerUserId": alice.name}, 400)
    alice.post(path, {}, 400)
    sent = alice.post(path, {"newOwnerUserId": bob.name}, 202)
    assert sent["status"] == "pending"
    assert sent["conversationTitle"] == "Ours"
    assert alice.post(path, {"newOwnerUserId": bob.name}, 202) == sent
    refused = alice.post(path, {"newOwnerUserId": "carol"}, 409)
    assert refused["details"]["existingTransferId"] == sent["id"]
    # Until accepted the recipient sees the transfer and nothing else.
    assert bob.get(TRANSFERS)["data"] == [sent]
    assert bob.get(f"{TRANSFERS}/{sent['id']}") == sent
    bob.get(talk.user, 404)
    assert bob.get("/v1/user/conversations")["data"] == []


def test_ruling_29_accepting_swaps_the_roles_in_all_forks(
    alice: User, bob: User, user: Callable[[str], User]
) -> None:
    talk = alice.start("one", "two")
    two = alice.get(f"{talk.user}/messages")["data"][1]["id"]
    fork = alice.fork(talk, two, "x")
    sent = alice.post(f"{fork.user}/transfer-ownership", {"newOwnerUserId": bob.name}, 202)
    one = f"{TRANSFERS}/{sent['id']}"
    user("carol").post(f"{one}/accept", None, 404)
    alice.post(f"{one}/accept", None, 403)
    alice.post(f"{one}/decline", None, 403)
    bob.post(f"{one}/cancel", None, 403)
    assert bob.post(f"{one}/accept", None, 200)["status"] == "accepted"
    for path in (talk.user, fork.user):
        assert bob.get(path)["accessLevel"] == "owner"
        assert bob.get(path)["ownerUserId"] == bob.name
        assert alice.get(path)["accessLevel"] == "manager"
    assert bob.post(f"{one}/accept", None, 200)["status"] == "accepted"
    refused = bob.post(f"{one}/decline", None, 409)
    assert refused["details"]["status"] == "accepted"
    alice.post(f"{one}/cancel", None, 409)
    assert alice.get(TRANSFERS)["data"] == bob.get(TRANSFERS)["data"] == []
    assert alice.get(one)["status"] == "accepted"
    alice.post(f"{talk.user}/transfer-ownership", {"newOwnerUserId": "x"}, 403)


@pytest.mark.parametrize(("answer", "status"), [("decline", "declined"), ("cancel", "cancelled")])
def test_ruling_29_declined_or_cancelled_nothing_changes(
    alice: User, bob: User, answer: str, status: str
) -> None:
    talk = alice.start("hello")
    path = f"{talk.user}/transfer-ownership"
    sent = alice.post(path, {"newOwnerUserId": bob.name}, 202)
    who = bob if answer == "decline" else alice
    for _ in range(2):
        assert who.post(f"{TRANSFERS}/{sent['id']}/{answer}", None, 200)["status"] == status
    bob.post(f"{TRANSFERS}/{sent['id']}/accept", None, 409)
    assert alice.get(talk.user)["accessLevel"] == "owner"
    bob.get(talk.user, 404)
    assert alice.post(path, {"newOwnerUserId": bob.name}, 202)["id"] != sent["id"]


def test_ruling_29_revoking_the_recipient_cancels(alice: User, bob: User) -> None:
    talk = alice.start("hello")
    alice.share(talk, bob, "reader")
    sent = alice.post(f"{talk.user}/transfer-ownership", {"newOwnerUserId": bob.name}, 202)
    alice.delete(f"{talk.user}/memberships/{bob.name}")
    assert bob.get(f"{TRANSFERS}/{sent['id']}")["status"] == "cancelled"
    bob.post(f"{TRANSFERS}/{sent['id']}/accept", None, 409)


def test_ruling_29_the_list_by_role_and_page(alice: User, bob: User) -> None:
    sent = []
    for _ in range(3):
        talk = alice.start("hello")
        path = f"{talk.user}/transfer-ownership"
        sent.append(alice.post(path, {"newOwnerUserId": bob.name}, 202)["id"])
    back = bob.start("mine")
    back_id = bob.post(f"{back.user}/transfer-ownership", {"newOwnerUserId": alice.name}, 202)["id"]
    newest_first = [back_id, *reversed(sent)]
    assert [it["id"] for it in alice.get(TRANSFERS)["data"]] == newest_first
    assert [it["id"] for it in alice.get(f"{TRANSFERS}?role=sender")["data"]] == newest_first[1:]
    assert [it["id"] for it in alice.get(f"{TRANSFERS}?role=recipient")["data"]] == [back_id]
    page = alice.get(f"{TRANSFERS}?limit=3")
    rest = alice.get(f"{TRANSFERS}?limit=3&after={page['nextCursor']}")
    assert [it["id"] for it in page["data"] + rest["data"]] == newest_first
    assert rest["nextCursor"] is None
    # A cursor is of its list.
    conversations = "/v1/user/conversations"
    for path, other in ((TRANSFERS, conversations), (conversations, TRANSFERS)):
        cursor = alice.get(f"{path}?limit=1")["nextCursor"]
        refused = alice.get(f"{other}?after={cursor}", 400)
        assert refused["details"]["field"] == "after"
    alice.get(f"{TRANSFERS}?role=other", 400)
    alice.get(f"{TRANSFERS}/{uuid.uuid4()}", 404)
    alice.get(f"{TRANSFERS}/x", 404)


def test_ruling_29_of_racing_answers_exactly_one_wins(
    server: Running, alice: User, bob: User
) -> None:
    for _ in range(5):
        talk = alice.start("hello")
        sent = alice.post(f"{talk.user}/transfer-ownership", {"newOwnerUserId": bob.name}, 202)
        calls = [(bob, "accept"), (bob, "decline"), (alice, "cancel")] * 2

        def answer(call: tuple[User, str], key: str = sent["id"]) -> tuple[str, int]:
            who, word = call
            with httpx.Client(
                base_url=server.address, headers=who.headers, timeout=SECONDS
            ) as client:
                return word, client.post(f"{TRANSFERS}/{key}/{word}").status_code

        with ThreadPoolExecutor(6) as pool:
            outcomes = list(pool.map(answer, calls))
        won = {word for word, status in outcomes if status == 200}
        assert len(won) == 1
        assert {status for word, status in outcomes if word not in won} == {409}
        owner = bob if won == {"accept"} else alice
        assert owner.get(talk.user)["accessLevel"] == "owner"
