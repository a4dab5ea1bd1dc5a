"""Proof by the extension `list`: both sides in id order, exact both ways, by content hash."""

from datetime import datetime
from uuid import UUID

from backfill.extras import Extras
from backfill.findings import Findings, Seen
from backfill.mapping import LegacyRow
from backfill.plan import Plan, Portion
from backfill.run import Run
from backfill.stream import Stream, merge
from contract import MAX_PAGE

PROOF = "list, exact both ways"
_TIMES_SEEN = 100
_PAGE_BYTES = 8 * 1024 * 1024


class Listing:
    """Compares a portion of namespaces with what the plugin lists."""

    def __init__(self, run: Run, plan: Plan, findings: Findings, extras: Extras) -> None:
        self._run = run
        self._plan = plan
        self._findings = findings
        self._extras = extras

    async def prove(self, slot: int, portion: Portion, rows: Stream[LegacyRow]) -> str:
        """Compare every row of the portion; returns the kind of proof."""
        times = await self._times(portion)
        there = Stream(self._run.target.pages(portion.namespaces, "digest", MAX_PAGE))
        async for row, memory in merge(rows, slot, there):
            if row is not None:
                namespace = self._plan.namespaces[row.workspace_id, row.scope]
                seen = None
                if memory is not None:
                    seen = Seen(memory.namespace, memory.content_sha256, times.get(memory.id))
                self._findings.judge(row, namespace, seen, "missing")
                self._run.reporter.advance()
            elif memory is not None:
                await self._extras.offer(memory.id, memory.namespace)
        return PROOF

    async def _times(self, portion: Portion) -> dict[UUID, datetime]:
        """The `created_at` of some of the target's rows.

        A digest does not contain it, and reading all rows in full would cost several times as much.
        A tool that copied with its own time did so for every row, so a few are enough.
        """
        size = max(1, min(_TIMES_SEEN, _PAGE_BYTES // (portion.longest + 1)))
        page = await self._run.target.first_page(portion.namespaces, size)
        return {memory.id: memory.created_at for memory in page}
