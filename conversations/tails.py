"""Following recordings: one reader per recording and worker, however many clients follow it.

Every round checks how long the recordings are, reads the new text of each once, and then checks
which followers may still see it: after reading, so that nothing recorded after a revocation reaches
the revoked. A stream ends soon after its user lost access or its token expired, even if nothing is
recorded.
"""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from conversations.answers import Row, encode
from conversations.batches import Batches
from conversations.errors import Unavailable
from conversations.recorder import IN_PROGRESS, TextLog
from conversations.statements import load
from postgres.database import Database
from postgres.errors import StoreUnavailable

_ROUND_SECONDS = 0.04
_PAUSE_SECONDS = 0.5
_COMMENT_SECONDS = 10.0
_WATCH_SECONDS = 1.0
_CHECKED_AT_ONCE = 32
_LONGEST_TOKEN = 64 * 1024
COMMENT = b": still here\n\n"


@dataclass(eq=False, slots=True)
class Follower:
    """A client that follows a recording."""

    user: str
    has_valid_token: Callable[[], Awaitable[bool]]
    is_out: bool = False


class Tail:
    """What this worker knows of one recording, and who follows it."""

    def __init__(self, row: Row) -> None:
        self.key: UUID = row["id"]
        self.group: UUID = row["group_id"]
        self.status: str = IN_PROGRESS
        self.message: UUID | None = row["message_id"]
        self.length = 0
        self.is_gone = False
        self.followers: set[Follower] = set()
        self._firsts: list[int] = []
        self._pieces: list[str] = []
        self._changed = asyncio.Event()
        self._event: tuple[int, int, bytes] = (-1, -1, b"")
        self.reading = asyncio.Lock()
        self.opening = asyncio.Lock()
        self.is_open = False

    @property
    def is_over(self) -> bool:
        return self.status != IN_PROGRESS

    def add(self, text: str) -> None:
        self._firsts.append(self.length)
        self._pieces.append(text)
        self.length += len(text)

    def tell(self) -> None:
        """Wake all followers."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, until: float) -> bool:
        """Wait for something new; False when there is none by that time of the event loop."""
        try:
            async with asyncio.timeout_at(until):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def token(self, start: int) -> tuple[bytes, int] | None:
        """An event with the text from an offset on, and the offset after it; None: no text yet."""
        if start >= self.length:
            return None
        first, end, event = self._event
        if first == start and end == self.length:
            return event, end  # nearly all followers are at the same place
        index = bisect_right(self._firsts, start) - 1
        text = "".join(self._pieces[index:])[start - self._firsts[index] :][:_LONGEST_TOKEN]
        end = start + len(text)
        event = sse("token", f"{self.key}:{end}", {"content": text, "offset": end})
        self._event = (start, end, event)
        return event, end

    def end(self) -> bytes:
        data = {"status": self.status, "offset": self.length, "messageId": self.message}
        return sse("end", f"{self.key}:end", data)


class Tails:
    """All recordings that clients of this worker follow."""

    def __init__(self, database: Database, text: TextLog) -> None:
        self._database = database
        self._text = text
        self._tails: dict[UUID, Tail] = {}
        self._wanted = asyncio.Event()
        self._members = Batches(self._are_members)

    async def follow(self, row: Row, me: Follower, start: int) -> AsyncGenerator[bytes]:
        """The events of a recording from an offset on, until it ends or access does."""
        tail = self._tails.get(row["id"])
        if tail is None:
            tail = self._tails[row["id"]] = Tail(row)
        tail.followers.add(me)
        self._wanted.set()
        try:
            if not await self._open(tail, me.user) or tail.is_gone or me.is_out:
                return
            beginning = {
                "recordingId": row["id"],
                "status": tail.status,
                "offset": start,
                "messageId": tail.message,
            }
            yield sse("start", f"{row['id']}:{start}", beginning)
            async for event in self._events(tail, me, start):
                yield event
        finally:
            tail.followers.discard(me)
            if not tail.followers:
                self._tails.pop(tail.key, None)

    async def _open(self, tail: Tail, user: str) -> bool:
        """Load the recording, and check that the user may see it.

        Only the first follower reads; a thousand that reconnect at once do not.
        """
        async with tail.opening:
            if not tail.is_open:
                await self._update(tail, await self._state(tail))
                tail.is_open = True
                return True
        return await self._members.ask((tail.group, user))

    async def _are_members(self, asked: list[tuple[UUID, str]]) -> list[bool]:
        groups, users = zip(*asked, strict=True)
        rows = await self._database.fetch(load("are_members"), groups, users)
        return [row["is_member"] for row in rows]

    @staticmethod
    async def _events(tail: Tail, me: Follower, start: int) -> AsyncIterator[bytes]:
        clock = asyncio.get_running_loop().time
        # Counted from the last event: a tail also wakes up for events that are not sent here.
        comment_at = clock() + _COMMENT_SECONDS
        while not tail.is_gone and not me.is_out:
            token = tail.token(start)
            if token is not None:
                event, start = token
                yield event
            elif tail.is_over:
                yield tail.end()
                return
            elif await tail.wait(comment_at):
                continue
            else:
                yield COMMENT
            comment_at = clock() + _COMMENT_SECONDS

    async def run(self) -> None:
        """Run rounds while anybody follows anything."""
        while True:
            if not self._tails:
                self._wanted.clear()
                await self._wanted.wait()
            try:
                await self._round()
            except (StoreUnavailable, Unavailable):
                await asyncio.sleep(_PAUSE_SECONDS)  # logged where it happened
            await asyncio.sleep(_ROUND_SECONDS)

    async def watch(self) -> None:
        """Shut out followers who lost access or whose token expired while nothing was recorded."""
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            with suppress(StoreUnavailable):  # logged where it happened
                await self._look_again()

    async def _look_again(self) -> None:
        following = [(tail, it) for tail in self._tails.values() for it in tail.followers]
        asked = list({(tail.group, follower.user) for tail, follower in following})
        if not asked:
            return
        are_members = dict(zip(asked, await self._are_members(asked), strict=True))
        changed: set[Tail] = set()
        for count, (tail, follower) in enumerate(following, 1):
            if count % _CHECKED_AT_ONCE == 0:
                await asyncio.sleep(0)  # checking thousands of tokens must not hold up requests
            is_member = are_members[tail.group, follower.user]
            if not is_member or not await follower.has_valid_token():
                follower.is_out = True
                changed.add(tail)
        for tail in changed:
            tail.tell()

    async def _round(self) -> None:
        tails = [tail for tail in self._tails.values() if not tail.is_over]
        states = await self._states(tails)
        for tail in tails:
            state = states.get(tail.key)
            if state is None or state["length"] != tail.length or state["status"] != tail.status:
                await self._update(tail, state)

    async def _state(self, tail: Tail) -> Row | None:
        return (await self._states([tail])).get(tail.key)

    async def _states(self, tails: list[Tail]) -> dict[UUID, Row]:
        if not tails:
            return {}
        keys = [tail.key for tail in tails]
        rows = await self._database.fetch(load("recording_states"), keys)
        return {row["id"]: await self._text.current(row) for row in rows}

    async def _update(self, tail: Tail, state: Row | None) -> None:
        """Read the new text, then check who may see it, and only then show it."""
        async with tail.reading:
            if state is None:
                tail.is_gone = True
                tail.tell()
                return
            text = ""
            if state["length"] > tail.length:
                text = await self._text.read(tail.key, tail.length)
            followers = list(tail.followers)
            users = list({follower.user for follower in followers})
            rows = await self._database.fetch(load("still_members"), tail.group, users)
            members = {row["user_id"] for row in rows}
            # New followers wake nobody: a thousand that reconnect at once would wake each other a
            # million times.
            is_new = bool(text)
            for follower in followers:
                if follower.user not in members and not follower.is_out:
                    follower.is_out = is_new = True
            if text:
                tail.add(text)
            # Announce the end after all text, which may have grown since the state was read.
            if state["status"] != IN_PROGRESS and tail.length >= state["length"]:
                is_new = is_new or not tail.is_over
                tail.status, tail.message = state["status"], state["message_id"]
            if is_new:
                tail.tell()


def sse(event: str, key: str, data: object) -> bytes:
    """One server-sent event; JSON has no line breaks, so it fits on one line."""
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (key.encode(), event.encode(), encode(data))
