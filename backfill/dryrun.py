"""`-dry-run`: what an apply would do and how verify would prove it; nothing is written."""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from backfill import listing, sighting
from backfill.mapping import Rejection, content_of
from backfill.plan import Plan
from backfill.rejects import Rejects
from backfill.run import Run
from backfill.writer import BATCH_BYTES
from contract import MAX_LIMIT, MAX_PAGE, MAX_WRITES


@dataclass(frozen=True)
class Share:
    """The rows of one workspace, and where they would go."""

    workspace_id: UUID | None
    name: str
    rows: int
    rejected: int
    namespaces: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """For the report."""
        return {
            "workspace_id": None if self.workspace_id is None else str(self.workspace_id),
            "name": self.name,
            "rows": self.rows,
            "rejected": self.rejected,
            "namespaces": self.namespaces,
        }


@dataclass(frozen=True)
class Forecast:
    """What an apply and a verify of everything would do."""

    rows: int
    shares: list[Share]
    oddities: list[str]
    proofs: Counter[str]
    apply_requests: int
    verify_requests: int
    verify_requests_are_most: bool


async def dry_run(run: Run, plan: Plan, rejects: Rejects) -> Forecast:
    """Read every row as an apply would, but send nothing."""
    run.reporter.start("dry run", plan.rows)
    total: Counter[UUID | None] = Counter()
    rejected: Counter[UUID | None] = Counter()
    places: defaultdict[UUID | None, Counter[str]] = defaultdict(Counter)
    rows = run.rows(plan, "slot")
    while (row := await rows.head()) is not None:
        rows.take()
        run.reporter.advance()
        total[row.workspace_id] += 1
        try:
            namespace = plan.namespace_of(row.workspace_id, row.scope)
            content_of(row)
        except Rejection as reason:
            rejects.add(row, str(reason))
            rejected[row.workspace_id] += 1
        else:
            places[row.workspace_id][namespace] += 1
    run.reporter.finish()
    shares = [
        Share(
            id_, plan.workspaces.name_of(id_), count, rejected[id_], dict(places[id_].most_common())
        )
        for id_, count in total.most_common()
    ]
    proofs, verify_requests = _proofs(run, plan)
    return Forecast(
        plan.rows,
        shares,
        plan.workspaces.oddities(plan.known_workspaces()),
        proofs,
        _apply_requests(run, plan, plan.rows - rejects.count),
        verify_requests,
        "list" not in run.target.extensions,
    )


def _apply_requests(run: Run, plan: Plan, rows: int) -> int:
    puts = len(set(plan.namespaces.values()))
    lists = len(plan.portions) if "list" in run.target.extensions else 0
    if "batch" not in run.target.extensions:
        return puts + lists + rows
    size = sum(pair.bytes for pair in plan.pairs)
    return puts + lists + max(math.ceil(rows / MAX_WRITES), math.ceil(size / BATCH_BYTES))


def _proofs(run: Run, plan: Plan) -> tuple[Counter[str], int]:
    """How many namespaces get which proof, and how many requests that needs at most."""
    counts: Counter[str] = Counter()
    if "list" in run.target.extensions:
        for portion in plan.portions:
            counts[listing.PROOF] += len(portion.namespaces)
        return counts, sum(portion.rows // MAX_PAGE + 1 for portion in plan.portions)
    sizes: Counter[str] = Counter()
    for pair in plan.pairs:
        if (pair.workspace_id, pair.scope) in plan.namespaces:
            sizes[plan.namespaces[pair.workspace_id, pair.scope]] += pair.rows
    large = sighting.method_of(run.target.capabilities)
    requests = len(sizes)
    for rows in sizes.values():
        if rows < MAX_LIMIT:
            counts[sighting.IN_FULL] += 1
        else:
            counts[large] += 1
            requests += 0 if large == sighting.NEWEST_ONLY else rows
    return counts, requests
