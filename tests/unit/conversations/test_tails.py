"""Followers of a recording: what they are sent while nothing happens, and how they are checked."""

import asyncio
from collections import Counter
from typing import Any, cast
from uuid import uuid4

import pytest

from conversations.tails import COMMENT, Follower, Tail, Tails
from tests.waiting import pass_time

pytestmark = pytest.mark.anyio


async def valid() -> bool:
    return True


async def test_ruling_38_a_tail_that_wakes_up_for_nothing_still_sends_comments() -> None:
    tail = Tail({"id": uuid4(), "group_id": uuid4(), "message_id": None})
    events = Tails._events(tail, Follower("alice", valid), 0)
    following = asyncio.ensure_future(anext(events))
    for _ in range(15):
        pass_time(1)
        for _ in range(5):
            await asyncio.sleep(0)
        # Somebody else is shut out.
        tail.tell()
    assert following.done()
    assert following.result() == COMMENT


class AllAreMembers:
    """A database in which every user may read everything."""

    async def fetch(self, _statement: str, groups: list[Any], _users: list[Any]) -> list[Any]:
        return [{"is_member": True} for _ in groups]


async def test_others_get_their_turn_while_many_followers_are_checked() -> None:
    turn = 0
    checked: Counter[int] = Counter()

    async def take_turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    async def check() -> bool:
        checked[turn] += 1
        return True

    tail = Tail({"id": uuid4(), "group_id": uuid4(), "message_id": None})
    tail.followers = {Follower(f"user-{n}", check) for n in range(1000)}
    tails = Tails(cast(Any, AllAreMembers()), cast(Any, None))
    tails._tails[tail.key] = tail
    others = asyncio.create_task(take_turns())
    await tails._look_again()
    others.cancel()
    assert checked.total() == 1000
    assert max(checked.values()) <= 64
