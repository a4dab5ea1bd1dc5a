"""Proof by search, for plugins without `list`: a row is proven once a search returned it."""

from collections.abc import Sequence
from uuid import UUID

from backfill.extras import Extras
from backfill.findings import Absent, Findings, Seen
from backfill.lanes import Lanes
from backfill.mapping import LegacyRow
from backfill.plan import Plan, Portion
from backfill.probe import Rarity, hash_of, look_for, newest, search_word, telling_word
from backfill.run import Run
from backfill.stream import Stream
from contract import MAX_LIMIT, Memory

IN_FULL = "search in full, exact both ways"
BY_PROBES = "text searches"
BY_MEANING = "embedding searches"
NEWEST_ONLY = f"the newest {MAX_LIMIT} only"
_BLOCK = 1000
_SEEN_KEPT = 50_000
_CONTROLS = 3


class Sighting:
    """Compares one namespace at a time with what searches return."""

    def __init__(
        self, run: Run, plan: Plan, findings: Findings, extras: Extras, rarity: Rarity
    ) -> None:
        self._run = run
        self._plan = plan
        self._findings = findings
        self._extras = extras
        self._rarity = rarity
        self._seen: dict[UUID, Seen] = {}
        self._gone: set[UUID] = set()

    async def prove(self, slot: int, portion: Portion, rows: Stream[LegacyRow]) -> str:
        """Compare every row of a portion of one namespace; returns the kind of proof.

        A row is certainly missing if one search shows all rows and not this one, or if searches by
        words work for other rows and a search for a word of this row does not find it.
        """
        (namespace,) = portion.namespaces
        self._seen, self._gone = {}, set()
        first = await newest(self._run.target, namespace)
        await self._note(first)
        in_full = len(first) < MAX_LIMIT
        finds: bool | None = None
        while block := await rows.take_while(lambda row: row.slot == slot, _BLOCK):
            if not in_full:
                await self._probe_for(namespace, block)
                if self._gone and finds is None:
                    finds = await self._finds_by_words(namespace, first)
            for row in block:
                certain = in_full or (bool(finds) and row.id in self._gone)
                absent: Absent = "missing" if certain else "unproven"
                self._findings.judge(row, namespace, self._seen.get(row.id), absent)
                self._run.reporter.advance()
            if len(self._seen) > _SEEN_KEPT:
                self._seen = {}
        return IN_FULL if in_full else method_of(self._run.target.capabilities)

    async def _probe_for(self, namespace: str, block: Sequence[LegacyRow]) -> None:
        async with Lanes(self._run.width) as lanes:
            for row in block:
                if row.id not in self._seen:
                    await lanes.start(self._probe(namespace, row))

    async def _probe(self, namespace: str, row: LegacyRow) -> None:
        # Another row's probe may have found this one while it was waiting.
        if row.id in self._seen:
            return
        async for memories in look_for(self._run.target, [namespace], row, self._rarity):
            await self._note(memories)
            if row.id in self._seen:
                return
        if await self._is_gone(namespace, row):
            self._gone.add(row.id)

    async def _is_gone(self, namespace: str, row: LegacyRow) -> bool:
        """Whether a search for a word returns all rows that have it except this one."""
        word = telling_word((row.content or b"").decode(errors="replace"), self._rarity)
        if word is None or "fts" not in self._run.target.capabilities:
            return False
        found = await search_word(self._run.target, namespace, word)
        if len(found) >= MAX_LIMIT or row.id in {memory.id for memory in found}:
            return False
        # If other rows have the word and the search finds none of them, the plugin does not index
        # it.
        return bool(found) or self._rarity.of(word) <= 1

    async def _finds_by_words(self, namespace: str, shown: Sequence[Memory]) -> bool:
        """Whether rows that certainly exist are found by one of their words."""
        tried = 0
        for memory in shown:
            word = telling_word(memory.content, self._rarity)
            if word is None:
                continue
            found = await search_word(self._run.target, namespace, word)
            if memory.id in {other.id for other in found}:
                return True
            tried += 1
            if tried == _CONTROLS:
                break
        return False

    async def _note(self, memories: Sequence[Memory]) -> None:
        for memory in memories:
            if memory.id not in self._seen:
                self._seen[memory.id] = Seen(
                    memory.namespace, hash_of(memory.content), memory.created_at
                )
                await self._extras.offer(memory.id, memory.namespace)


def method_of(capabilities: frozenset[str]) -> str:
    """How a namespace that is too large for one search is proven."""
    if "fts" in capabilities:
        return BY_PROBES
    return BY_MEANING if "embedding" in capabilities else NEWEST_ONLY
