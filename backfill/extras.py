"""Rows that the target has and the comparison did not expect: where they come from."""

from collections.abc import Sequence
from uuid import UUID

from backfill.findings import Findings
from backfill.mapping import Rejection
from backfill.plan import Plan
from backfill.selection import Selection
from backfill.source import Legacy

_AT_ONCE = 1000


class Extras:
    """Checks the legacy table, in the same snapshot, before it calls a row extra.

    A namespace of a team or an organisation has rows of workspaces that are not compared.
    """

    def __init__(
        self,
        legacy: Legacy,
        plan: Plan,
        findings: Findings,
        selection: Selection,
        chosen: Sequence[UUID] | None,
    ) -> None:
        self._legacy = legacy
        self._selection = selection
        self._chosen = chosen
        self._plan = plan
        self._findings = findings
        self._offered: dict[UUID, str] = {}

    async def offer(self, row_id: UUID, namespace: str) -> None:
        """The target has this row in this namespace."""
        self._offered[row_id] = namespace
        if len(self._offered) >= _AT_ONCE:
            await self.flush()

    async def flush(self) -> None:
        """Classify what was offered."""
        offered, self._offered = self._offered, {}
        if not offered:
            return
        known = await self._legacy.known(list(offered), self._selection, self._chosen)
        for row_id, namespace in offered.items():
            if row_id not in known:
                self._findings.add_extra(row_id, namespace)
                continue
            row = known[row_id]
            try:
                proper = self._plan.namespace_of(row.workspace_id, row.scope)
            except Rejection:
                self._findings.add_extra(row_id, namespace)
                continue
            if proper != namespace:
                self._findings.seen_elsewhere(
                    row_id, row.workspace_id, proper, namespace, is_compared=row.is_chosen
                )
