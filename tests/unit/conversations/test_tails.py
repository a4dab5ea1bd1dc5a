"""Ruling 38: a comment at least every 15 seconds, whatever else a tail wakes up for."""

import asyncio
from uuid import uuid4

import pytest

from conversations.tails import COMMENT, Follower, Tail, Tails
from tests.waiting import pass_time

pytestmark = pytest.mark.anyio


async def valid() -> bool:
    return True


async def test_a_tail_that_wakes_up_for_nothing_still_sends_comments() -> None:
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
