"""The run's own namespaces: their names, where they are written down, and how they go away.

Every name is `custom:conformance.<run>.<number>`. The plugin itself keeps the note of how many
numbers a run may have used, in the namespace `custom:conformance.runs`, so that what a
killed run left can be removed from any machine. Nothing else is ever deleted.
"""

import asyncio
import re
import secrets
from dataclasses import dataclass
from uuid import uuid4

from harness.curl import body_of
from harness.errors import Failure
from harness.exchange import Exchange, NoAnswer, Recorder, Request

RUNS = "custom:conformance.runs"
_BLOCK = 200
_AT_ONCE = 8
_NOTE = re.compile(r"run ([0-9a-f]{12}) uses the numbers 0 to (\d+)")


class Ledger:
    """Hands out names, remembers which may exist, deletes those."""

    def __init__(self, wire: Recorder, run: str | None = None, note: str | None = None) -> None:
        self.run = run or secrets.token_hex(6)
        self._wire = wire
        self._note = note or str(uuid4())
        self._noted = 0
        self._next = 0
        self.open: set[str] = set()

    def name(self) -> str:
        """A fresh name of this run, to be deleted at the end."""
        name = f"custom:conformance.{self.run}.{self._next}"
        self._next += 1
        self.open.add(name)
        return name

    async def write_down(self) -> None:
        """Leave a note in the plugin before more names are used than the last note says.

        A plugin that cannot keep the note is about to fail its checks; the run goes on, and
        cleans up by itself unless it is killed.
        """
        if self._next + _BLOCK // 2 < self._noted:
            return
        self._noted += _BLOCK
        content = f"run {self.run} uses the numbers 0 to {self._noted - 1}"
        note = {"content": content, "kind": "checkpoint", "source": "runtime", "id": self._note}
        for _ in range(3):
            # Between the two requests another run may end and delete the empty namespace.
            await self._send("PUT", f"/v1/namespaces/{RUNS}", {"kind": "custom"})
            answer = await self._send("POST", f"/v1/namespaces/{RUNS}/memories", note)
            if answer is None or answer.status != 404:
                return

    async def close(self) -> list[str]:
        """Delete what is open and the note; answer the names that could not be deleted."""
        left = await self.remove(self.open)
        if not left:
            body = {"requested_by_namespace": RUNS}
            await self._send("DELETE", f"/v1/memories/{self._note}", body)
            if not await notes(self._wire):
                await self._send("DELETE", f"/v1/namespaces/{RUNS}")
        return left

    async def remove(self, names: set[str]) -> list[str]:
        """Delete namespaces of this run; answer those that are still there."""
        own = sorted(name for name in names if name.startswith(f"custom:conformance.{self.run}."))
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(name: str) -> str | None:
            async with slots:
                gone = await self._delete(name)
            if gone:
                self.open.discard(name)
            return None if gone else name

        left = await asyncio.gather(*(one(name) for name in own))
        return [name for name in left if name is not None]

    async def _delete(self, name: str) -> bool:
        path = f"/v1/namespaces/{name}"
        answer = await self._send("DELETE", path)
        if answer is not None and answer.status == 404:
            # An expired namespace answers 404 while its rows are kept for a rescue.
            rescue = await self._send("PATCH", path, {"expires_at": None})
            if rescue is not None and rescue.status == 200:
                answer = await self._send("DELETE", path)
        return answer is not None and answer.status in (204, 404)

    async def _send(self, method: str, path: str, body: object = None) -> Exchange | None:
        try:
            return await self._wire.send(
                Request(method, path, None if body is None else body_of(body))
            )
        except NoAnswer:
            return None


@dataclass(frozen=True)
class Note:
    """A run that is going on, or was killed, and the highest number that it may have used."""

    run: str
    highest: int
    memory: str


async def notes(wire: Recorder) -> list[Note]:
    """What runs have written down in the plugin and not taken back."""
    try:
        body = body_of({"namespaces": [RUNS], "limit": 100})
        answer = (await wire.send(Request("POST", "/v1/search", body))).json
        memories = [(memory["id"], str(memory["content"])) for memory in answer["memories"]]
    except (NoAnswer, Failure, KeyError, TypeError):
        return []
    return [
        Note(match[1], int(match[2]), memory)
        for memory, content in memories
        if (match := _NOTE.fullmatch(content))
    ]


async def clean_up(wire: Recorder) -> tuple[list[str], list[str]]:
    """Remove what the runs of all notes left; answer their ids, and the names still there."""
    removed: list[str] = []
    left: list[str] = []
    for note in await notes(wire):
        ledger = Ledger(wire, note.run, note.memory)
        ledger.open = {ledger.name() for _ in range(note.highest + 1)}
        left += await ledger.close()
        removed.append(note.run)
    return removed, left
