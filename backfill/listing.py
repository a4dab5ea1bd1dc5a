"""Proof by the extension `list`: both sides in id order, exact both ways, by content hash."""

from backfill.extras import Extras
from backfill.findings import Findings, Seen
from backfill.mapping import LegacyRow
from backfill.plan import Plan, Portion
from backfill.run import Run
from backfill.stream import Stream, merge
from contract import MAX_PAGE

PROOF = "list, exact both ways"


class Listing:
    """Compares a portion of namespaces with what the plugin lists."""

    def __init__(self, run: Run, plan: Plan, findings: Findings, extras: Extras) -> None:
        self._run = run
        self._plan = plan
        self._findings = findings
        self._extras = extras

    async def prove(self, slot: int, portion: Portion, rows: Stream[LegacyRow]) -> str:
        """Judge every row of the portion; the answer names the proof."""
        there = Stream(self._run.target.pages(portion.namespaces, "digest", MAX_PAGE))
        async for row, memory in merge(rows, slot, there):
            if row is not None:
                namespace = self._plan.namespaces[row.workspace_id, row.scope]
                seen = None if memory is None else Seen(memory.namespace, memory.content_sha256)
                self._findings.judge(row, namespace, seen, "missing")
                self._run.reporter.advance()
            elif memory is not None:
                await self._extras.offer(memory.id, memory.namespace)
        return PROOF
