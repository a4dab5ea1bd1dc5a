"""Summarises memories: merges old ones into one, or shortens long ones.

The originals are copied to the owner's archive before they are replaced or deleted, and can be
restored until `restorableUntil`.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID, uuid4, uuid5

from contract import format_time
from language.sentences import first_sentences
from postgres.database import Database
from recall.ledger import STATEMENTS
from recall.memory import Memory, archive_of, from_row, memory_id, now
from recall.plugin import batch_write
from recall.requests import MAX_CONTENT
from recall.selection import Selection
from recall.store import MemoryStore, open_store
from recall.tokens import estimate_tokens

Mode = Literal["olderThanDays", "maxTokens"]
SENTENCES = 3


@dataclass(frozen=True)
class Plan:
    """What a run does for one owner: replace by `shortened`, or delete and write a `summary`."""

    owner: str
    candidates: list[Memory]
    shortened: dict[str, Memory]
    summary: Memory | None
    total_tokens: int

    @property
    def tokens_saved(self) -> int:
        before = sum(estimate_tokens(one.content) for one in self.candidates)
        after = sum(estimate_tokens(one.content) for one in self.shortened.values())
        if self.summary is not None:
            after += estimate_tokens(self.summary.content)
        return before - after

    def only(self, ids: set[str]) -> "Plan":
        """The part of the plan about these memories."""
        kept = [memory for memory in self.candidates if memory.id in ids]
        summary = self.summary
        if summary is not None:
            metadata = {**summary.metadata, "count": len(kept)}
            content = "\n".join(_line(memory) for memory in kept)
            summary = replace(summary, content=content, metadata=metadata) if kept else None
        shortened = {id_: memory for id_, memory in self.shortened.items() if id_ in ids}
        return replace(self, candidates=kept, shortened=shortened, summary=summary)


class Summariser:
    """Summarises and restores. Without `runs` in PostgreSQL it archives the originals, but cannot
    restore them."""

    def __init__(self, store: MemoryStore, runs: "Runs | None" = None) -> None:
        self._store = store
        self._runs = runs

    async def summarize(
        self,
        owners: list[str],
        *,
        session_id: str | None = None,
        older_than_days: int | None = None,
        max_tokens: int | None = None,
        dry_run: bool = False,
        keep_days: int = 30,
    ) -> dict[str, Any]:
        """Summarise each owner separately, and report what was done."""
        run_id = str(uuid4())
        moment = now()
        until = moment + timedelta(days=keep_days)
        mode: Mode = "maxTokens" if max_tokens is not None else "olderThanDays"
        plans: list[Plan] = []
        for owner in owners:
            selection = Selection((owner,), session_id=session_id)
            found = (await self._store.scan(selection)).memories
            if max_tokens is not None:
                plan = _shorten(owner, found, max_tokens)
            else:
                cutoff = moment - timedelta(days=older_than_days or 30)
                plan = _merge(selection, found, cutoff, run_id, moment)
            if plan.candidates and not dry_run:
                plan = await self._carry_out(plan, run_id, mode, moment, until)
            plans.append(plan)
        touched = [plan for plan in plans if plan.candidates]
        candidates = [memory for plan in touched for memory in plan.candidates]
        summaries = [plan.summary for plan in touched if plan.summary is not None]
        done = bool(candidates) and not dry_run
        return {
            "runId": None if dry_run else run_id,
            "dryRun": dry_run,
            "candidates": [memory.to_json() for memory in candidates],
            "originalCount": len(candidates),
            "summarizedCount": sum(len(plan.shortened) for plan in touched) + len(summaries),
            "totalTokens": sum(plan.total_tokens for plan in plans),
            "tokensSaved": sum(plan.tokens_saved for plan in touched),
            "deletedCount": sum(len(plan.candidates) for plan in touched if plan.summary),
            "summaryId": summaries[0].id if summaries and not dry_run else None,
            "restorableUntil": format_time(until) if done else None,
        }

    async def restore(self, run_id: str) -> tuple[int, list[str]] | None:
        """Restore a run: how many memories, and which were skipped; None if it is unknown."""
        if self._runs is None:
            return None
        rows = await self._runs.find(run_id)
        if not rows:
            return None
        restored, skipped = 0, []
        for row in rows:
            owner, found, is_cut = row["owner"], 0, True
            while is_cut and found < row["count"]:
                originals, is_cut = await self._originals(owner, run_id)
                if not originals:
                    break
                left = await self._put_back(owner, originals)
                restored += len(originals) - len(left)
                skipped += left
                found += len(originals)
            if is_cut and found < row["count"]:
                # The plugin does not show the whole archive. Until it does, for example after a
                # later run was restored, the rest is only in the summary.
                continue
            if row["summary_id"] is not None:
                await self._store.delete(str(row["summary_id"]), api_key_id=owner)
            await self._runs.remove(run_id, owner)
        return restored, skipped

    async def _put_back(self, owner: str, originals: "list[Original]") -> list[str]:
        """Move originals back from the archive, and return the ids of those that are skipped,
        because they were changed since."""
        current = {
            memory.id: memory for memory in (await self._store.scan(Selection((owner,)))).memories
        }
        back = [it.memory for it in originals if it.is_unchanged(current.get(it.memory.id))]
        await self._store.rewrite(back)
        await self._store.plugin.forget_all(archive_of(owner), [it.row_id for it in originals])
        kept = {memory.id for memory in back}
        return [it.memory.id for it in originals if it.memory.id not in kept]

    async def _carry_out(
        self, plan: Plan, run_id: str, mode: Mode, moment: datetime, until: datetime
    ) -> Plan:
        """Carry out a plan, and return what was done of it: memories that were changed or deleted
        in the meantime are left out."""
        archive = archive_of(plan.owner)
        rows = [
            batch_write(
                archive,
                replace(memory, expires_at=until),
                {
                    **memory.propagation(),
                    "runId": run_id,
                    "originalId": memory.id,
                    "originalExpiresAt": (
                        None if memory.expires_at is None else format_time(memory.expires_at)
                    ),
                    "shortened": memory.id in plan.shortened,
                },
                memory_id=_archived_id(run_id, memory.id),
            )
            for memory in plan.candidates
        ]
        await self._store.plugin.write_rows(rows)
        if self._runs is not None:
            await self._runs.add(plan, run_id, mode, moment, until)
        if plan.summary is not None:
            await self._store.rewrite([plan.summary])
        done = await self._store.exchange(plan.owner, plan.candidates, plan.shortened)
        if len(done) == len(plan.candidates):
            return plan
        left_out = [_archived_id(run_id, it.id) for it in plan.candidates if it.id not in done]
        await self._store.plugin.forget_all(archive, left_out)
        part = plan.only(done)
        if self._runs is not None:
            await self._runs.add(part, run_id, mode, moment, until)
        if part.summary is not None:
            await self._store.rewrite([part.summary])
        elif plan.summary is not None:
            await self._store.delete(plan.summary.id, api_key_id=plan.owner)
        return part

    async def _originals(self, owner: str, run_id: str) -> "tuple[list[Original], bool]":
        """The originals of a run, and whether the plugin left out a part of the archive."""
        rows, is_cut = await self._store.plugin.look_through([archive_of(owner)], {"runId": run_id})
        found = []
        for row in rows:
            note = row.propagation or {}
            if note.get("runId") != run_id or not isinstance(note.get("originalId"), str):
                continue
            kept = from_row(row, owner)
            ended = note.get("originalExpiresAt")
            memory = replace(
                kept,
                id=note["originalId"],
                expires_at=datetime.fromisoformat(ended) if isinstance(ended, str) else None,
            )
            found.append(Original(str(row.id), memory, bool(note.get("shortened"))))
        return found, is_cut


@dataclass(frozen=True)
class Original:
    """An archived memory, and the row that stores it."""

    row_id: str
    memory: Memory
    was_shortened: bool

    def is_unchanged(self, current: Memory | None) -> bool:
        """Whether its replacement is still as the run left it."""
        if not self.was_shortened:
            return current is None
        return (
            current is not None
            and current.updated_at == self.memory.updated_at
            and current.content == first_sentences(self.memory.content, SENTENCES)
        )


class Runs:
    """The runs that can be undone, in PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self, plan: Plan, run_id: str, mode: Mode, created_at: datetime, until: datetime
    ) -> None:
        """Record a run before it changes anything, and again if it did less than planned."""
        await self._database.execute(
            STATEMENTS.load("add_run"),
            UUID(run_id),
            plan.owner,
            mode,
            len(plan.candidates),
            None if plan.summary is None else UUID(plan.summary.id),
            created_at,
            until,
        )

    async def find(self, run_id: str) -> list[Any]:
        """The parts of a run, one per owner."""
        rows: list[Any] = await self._database.fetch(
            STATEMENTS.load("list_runs"), None, UUID(run_id)
        )
        return rows

    async def shown(self, owner: str | None) -> list[dict[str, Any]]:
        """The runs of an owner or of all, newest first."""
        rows = await self._database.fetch(STATEMENTS.load("list_runs"), owner, None)
        return [
            {
                "runId": str(row["run_id"]),
                "apiKeyId": row["owner"],
                "mode": row["mode"],
                "createdAt": format_time(row["created_at"]),
                "restorableUntil": format_time(row["restorable_until"]),
                "count": row["count"],
            }
            for row in rows
        ]

    async def remove(self, run_id: str, owner: str) -> None:
        """Forget a run that was restored."""
        await self._database.execute(STATEMENTS.load("remove_run"), UUID(run_id), owner)

    async def sweep(self) -> None:
        """Forget runs that can no longer be restored; their originals expire by themselves."""
        await self._database.execute(STATEMENTS.load("drop_old_runs"))


async def summarize_memories(
    api_key_id: str,
    session_id: str | None = None,
    max_tokens: int = 4000,
    dry_run: bool = False,
    *,
    store: MemoryStore | None = None,
) -> dict[str, Any]:
    """Shorten an owner's memories until the newest fit into `max_tokens`; see `Summariser`.

    Without a store, the plugin at `MEMORY_PLUGIN_URL` is used.
    """
    async with open_store(store) as opened:
        return await Summariser(opened).summarize(
            [api_key_id], session_id=session_id, max_tokens=max_tokens, dry_run=dry_run
        )


def _merge(
    selection: Selection, memories: list[Memory], cutoff: datetime, run_id: str, moment: datetime
) -> Plan:
    """Merge the older memories into one, with one line for each, oldest first.

    Memories that would make it too long are left for the next run.
    """
    [owner] = selection.owners
    total = sum(estimate_tokens(memory.content) for memory in memories)
    old: list[Memory] = []
    lines: list[str] = []
    length = 0
    for memory in sorted(memories, key=lambda it: (it.created_at, it.id)):
        line = _line(memory)
        if memory.updated_at < cutoff and length + len(line) <= MAX_CONTENT:
            old.append(memory)
            lines.append(line)
            length += len(line) + 1
    if not old:
        return Plan(owner, [], {}, None, total)
    key = f"summary:{run_id}"
    summary = Memory(
        id=memory_id(owner, key),
        api_key_id=owner,
        key=key,
        content="\n".join(lines),
        type="semantic",
        session_id=selection.session_id or "",
        created_at=moment,
        updated_at=moment,
        kind="summary",
        metadata={"runId": run_id, "count": len(old)},
    )
    return Plan(owner, old, {}, summary, total)


def _shorten(owner: str, memories: list[Memory], budget: int) -> Plan:
    """Newest first, keep what fits, and cut the rest to three sentences."""
    total = used = 0
    candidates: list[Memory] = []
    shortened: dict[str, Memory] = {}
    for memory in memories:
        tokens = estimate_tokens(memory.content)
        total += tokens
        if used + tokens <= budget:
            used += tokens
            continue
        short = first_sentences(memory.content, SENTENCES)
        if short != memory.content:
            candidates.append(memory)
            shortened[memory.id] = replace(memory, content=short)
    return Plan(owner, candidates, shortened, None, total)


def _line(memory: Memory) -> str:
    """A memory in a summary."""
    short = " ".join(first_sentences(memory.content, SENTENCES).split())
    return f"[{memory.type}] {memory.key}: {short}"


def _archived_id(run_id: str, memory_id_: str) -> str:
    """The id of the original of a memory in the archive."""
    return str(uuid5(UUID(run_id), memory_id_))
