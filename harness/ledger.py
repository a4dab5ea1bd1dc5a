"""The run's own namespaces: their names, where they are recorded, and how they are deleted.

Every name is `custom:conformance.<run>.<number>`, with a suffix for checks of names. The plugin
itself stores notes of which names a run may have used, in the namespace `custom:conformance.runs`,
so that what a killed run left can be removed from any machine. Nothing else is ever deleted.
"""

import asyncio
import re
import secrets
from dataclasses import dataclass
from functools import cache
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

from harness.curl import body_of
from harness.errors import Failure, ForeignNamespace
from harness.exchange import Exchange, NoAnswer, Recorder, Request
from harness.naming import is_name, names_in

RUNS = "custom:conformance.runs"
_BLOCK = 200
_AT_ONCE = 8
_WORKSPACES = 4
_NOTE = re.compile(
    r"run ([0-9a-f]{12}) may use"
    r" (?:the numbers below (\d+)|the name ([\w:.\-]+)|(namespaces of workspaces))"
)


class Ledger:
    """Hands out names, remembers which may exist, deletes those."""

    def __init__(self, wire: Recorder, run: str | None = None) -> None:
        self.run = run or secrets.token_hex(6)
        self.open: set[str] = set()
        self.notes: list[str] = []
        self.no_memories: Exchange | None = None
        """How the plugin refused a memory, if deleting one could not be tested for that reason."""
        self._wire = wire
        self._noted = 0
        self._next = 0

    @property
    def prefix(self) -> str:
        """What every name of this run starts with."""
        return f"custom:conformance.{self.run}."

    def owns(self, name: str) -> bool:
        """True for the names that only this run may use."""
        return name.startswith(self.prefix) or name in backfilled_by(self.run)

    def guard(self, request: Request) -> None:
        """Raise, so that nothing is sent, if the request may create what is not ours to delete.

        `ForeignNamespace` if it names a namespace that is not ours. `Failure` if it writes a memory
        and deleting memories could not be tested.
        """
        foreign = sorted(name for name in names_in(request) if not self.owns(name))
        if foreign:
            raise ForeignNamespace(
                f"a bug in the harness; nothing was sent: {request.method} {request.path[:80]}"
                f" names {foreign[0][:80]}, which is not of this run"
            )
        if self.no_memories is not None and writes_memories(request):
            refused = self.no_memories
            raise Failure(f"201 for POST {refused.request.path}", refused.shown)

    def name(self) -> str:
        """A fresh name of this run, to be deleted at the end."""
        name = f"{self.prefix}{self._next}"
        self._next += 1
        self.open.add(name)
        return name

    async def special_name(self, suffix: str, longest: int) -> str:
        """A new name with a suffix, recorded at once because it cannot be guessed later."""
        name = f"{self.prefix}{self._next}{suffix}"[:longest]
        self._next += 1
        self.open.add(name)
        await self._write_note(f"the name {name}")
        return name

    async def workspaces(self) -> list[UUID]:
        """Workspace ids of this run, for namespaces that a backfill names after them."""
        await self._write_note("namespaces of workspaces")
        ids = workspaces_of(self.run)
        self.open |= backfilled_by(self.run)
        return ids

    async def write_down(self) -> None:
        """Write a note to the plugin before more numbers are used than the last note covers."""
        if self._next + _BLOCK // 2 >= self._noted:
            self._noted += _BLOCK
            await self._write_note(f"the numbers below {self._noted}")

    async def _write_note(self, what: str) -> None:
        """If it fails, the run continues: it cleans up by itself unless it is killed."""
        note = {
            "content": f"run {self.run} may use {what}",
            "kind": "checkpoint",
            "source": "runtime",
            "id": str(uuid4()),
        }
        for _ in range(3):
            # Between the two requests another run may end and delete the empty namespace.
            await self._send("PUT", f"/v1/namespaces/{RUNS}", {"kind": "custom"})
            answer = await self._send("POST", f"/v1/namespaces/{RUNS}/memories", note)
            if answer is None or answer.status != 404:
                self.notes.append(note["id"])
                return

    async def close(self) -> list[str]:
        """Delete what is left and the notes; returns the names that could not be deleted."""
        left = await self.remove(self.open)
        if not left:
            for note in self.notes:
                body = {"requested_by_namespace": RUNS}
                await self._send("DELETE", f"/v1/memories/{note}", body)
            found = await _memories_of_runs(self._wire)
            # A plugin without memories has no notes and cannot be searched for them.
            if found == [] or (found is None and not self.notes):
                await self._send("DELETE", f"/v1/namespaces/{RUNS}")
        return left

    async def remove(self, names: set[str]) -> list[str]:
        """Delete namespaces of this run; returns those that are still there."""
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(name: str) -> str | None:
            async with slots:
                gone = await self._delete(name)
            if gone:
                self.open.discard(name)
            return None if gone else name

        left = await asyncio.gather(*(one(name) for name in sorted(filter(self.owns, names))))
        return [name for name in left if name is not None]

    async def _delete(self, name: str) -> bool:
        path = f"/v1/namespaces/{name}"
        answer = await self._send("DELETE", path)
        if answer is not None and answer.status == 404:
            # An expired namespace gets 404 while its rows are kept in case it is restored.
            rescue = await self._send("PATCH", path, {"expires_at": None})
            if rescue is not None and rescue.status == 200:
                answer = await self._send("DELETE", path)
        # An invalid name is refused instead of not found.
        absent = {404} if is_name(name) else {400, 404}
        return answer is not None and answer.status in {204, *absent}

    async def _send(self, method: str, path: str, body: object = None) -> Exchange | None:
        try:
            return await self._wire.send(
                Request(method, path, None if body is None else body_of(body))
            )
        except NoAnswer:
            return None


def writes_memories(request: Request) -> bool:
    """True for the two endpoints that create memories."""
    return request.method == "POST" and request.path.endswith(("/memories", "/memories/batch"))


@dataclass(frozen=True)
class Note:
    """What a run that is in progress, or was killed, has noted."""

    memory: str
    run: str
    names: frozenset[str]


async def _memories_of_runs(wire: Recorder) -> list[tuple[str, str]] | None:
    """The ids and contents in the namespace of notes; None if it cannot be read."""
    try:
        body = body_of({"namespaces": [RUNS], "limit": 100})
        found = (await wire.send(Request("POST", "/v1/search", body))).object["memories"]
        return [(str(memory["id"]), str(memory["content"])) for memory in found]
    except (NoAnswer, Failure, KeyError, TypeError):
        return None


async def read_notes(wire: Recorder) -> list[Note]:
    """The notes that have not been deleted."""
    return [
        Note(memory, match[1], _names_in(match))
        for memory, content in await _memories_of_runs(wire) or []
        if (match := _NOTE.fullmatch(content))
    ]


def _names_in(note: re.Match[str]) -> frozenset[str]:
    run, below, name, workspaces = note.groups()
    if workspaces:
        return backfilled_by(run)
    if name:
        return frozenset([name])
    return frozenset(f"custom:conformance.{run}.{n}" for n in range(int(below)))


def workspaces_of(run: str) -> list[UUID]:
    """Ids that only this run uses, and that can be derived from its name."""
    return [uuid5(NAMESPACE_URL, f"custom:conformance.{run} {n}") for n in range(_WORKSPACES)]


@cache
def backfilled_by(run: str) -> frozenset[str]:
    """The namespaces that a backfill of those workspaces may fill."""
    kinds = ("workspace", "team", "org")
    return frozenset(f"{kind}:{workspace}" for kind in kinds for workspace in workspaces_of(run))


async def clean_up(wire: Recorder) -> tuple[list[str], list[str]]:
    """Remove what the runs of all notes left; returns their ids, and the names still there."""
    runs: dict[str, Ledger] = {}
    for note in await read_notes(wire):
        ledger = runs.setdefault(note.run, Ledger(wire, note.run))
        ledger.notes.append(note.memory)
        ledger.open |= note.names
    left = [name for ledger in runs.values() for name in await ledger.close()]
    return list(runs), left
