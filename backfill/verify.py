"""`-verify`: whether every row is there, in its namespace, with its content.

The proof is the best that the plugin allows: its `list`, a search that returns a namespace in full,
or searches for the rows' own words. A row that none of them shows is unproven, never assumed.
"""

import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from uuid import UUID

from backfill.errors import EXIT_MISMATCH, EXIT_OK, EXIT_UNPROVEN
from backfill.extras import Extras
from backfill.findings import Findings
from backfill.listing import PROOF, Listing
from backfill.mapping import LegacyRow
from backfill.plan import Plan, make_plan, only
from backfill.probe import Rarity, look_for, pick
from backfill.run import Run
from backfill.selection import Selection
from backfill.sighting import IN_FULL, Sighting
from backfill.source import Pair
from contract import MAX_LIMIT

EXACT = {PROOF, IN_FULL}
_NAMES_IN_SEARCH = 100


@dataclass
class Verification:
    """What was compared, how, and with which result."""

    selection: Selection
    seed: int | None
    sampled: int
    population: int
    findings: Findings
    no_extras: bool
    proofs: dict[str, str] = field(default_factory=dict)
    looked_elsewhere: int | None = None
    """How many of the absent rows were looked for in other namespaces; None for all."""
    can_repair_times: bool = False

    @property
    def extras_are_all(self) -> bool:
        """Whether every row of the compared namespaces was seen, so all extras are known."""
        return set(self.proofs.values()) <= EXACT

    @property
    def may_cut_over(self) -> bool:
        """Whether it covers the whole table, and nothing speaks against the cutover."""
        return self.selection.is_everything and self.exit_code == EXIT_OK

    @property
    def exit_code(self) -> int:
        """1 if something is wrong, 4 if something could not be proven, else 0."""
        found = self.findings
        if found.mismatches or found.rejected or (self.no_extras and found.extras):
            return EXIT_MISMATCH
        return EXIT_UNPROVEN if found.counts["unproven"] else EXIT_OK


async def verify(run: Run, everything: Plan) -> Verification:
    """Compare a sample of the workspaces, or all of them."""
    population = everything.known_workspaces()
    seed, chosen = _draw(population, run.options.verify_sample, run.options.seed)
    findings = Findings(show_content=run.options.show_content)
    extensions = run.target.extensions
    sampled = len(population if chosen is None else chosen)
    result = Verification(
        run.options.selection,
        seed,
        sampled,
        len(population),
        findings,
        run.options.no_extras,
        can_repair_times={"list", "batch"} <= extensions,
    )
    pairs: Sequence[Pair] = everything.pairs
    if chosen is not None:
        pairs = only(pairs, chosen)
        # Rows without a workspace are in no sample, but are left behind too.
        known = set(population)
        for pair in everything.pairs:
            if pair.workspace_id not in known:
                reason = everything.rejected[pair.workspace_id, pair.scope]
                findings.rejected[reason] += pair.rows
    try:
        await _compare(run, make_plan(everything.workspaces, pairs), chosen, everything, result)
        findings.settle()
    except BaseException:
        findings.close()
        raise
    return result


async def _compare(
    run: Run, plan: Plan, chosen: list[UUID] | None, everything: Plan, result: Verification
) -> None:
    findings = result.findings
    has_list = "list" in run.target.extensions
    extras = Extras(run.legacy, everything, findings, run.options.selection, chosen)
    prover: Listing | Sighting
    if has_list:
        prover = Listing(run, plan, findings, extras)
    else:
        plan = make_plan(plan.workspaces, plan.pairs, portion_of_one=True)
        prover = Sighting(run, plan, findings, extras, await _learn(run, plan, chosen))
    run.reporter.start("verify", plan.rows)
    embeddings = not has_list and "embedding" in run.target.capabilities
    rows = run.rows(plan, "slot", workspaces=chosen, embeddings=embeddings)
    while (row := await rows.head()) is not None and row.slot is None:
        rows.take()
        findings.rejected[plan.rejected[row.workspace_id, row.scope]] += 1
        run.reporter.advance()
    for slot, portion in enumerate(plan.portions):
        proof = await prover.prove(slot, portion, rows)
        result.proofs.update(dict.fromkeys(portion.namespaces, proof))
    await extras.flush()
    run.reporter.finish()
    is_whole = chosen is None and run.options.selection.is_everything
    if not (has_list and is_whole):
        result.looked_elsewhere = await _look_elsewhere(run, plan, findings)


def _draw(
    population: Sequence[UUID], size: int | None, seed: int | None
) -> tuple[int | None, list[UUID] | None]:
    """The seed and the sample; None for both if all are compared."""
    if size is None or size >= len(population):
        return None, None
    seed = secrets.randbits(32) if seed is None else seed
    return seed, sorted(random.Random(seed).sample(population, size))  # noqa: S311 - to be repeated


async def _learn(run: Run, plan: Plan, chosen: list[UUID] | None) -> Rarity:
    """Count the words, if any namespace has to be searched by words."""
    rarity = Rarity()
    large = any(portion.rows >= MAX_LIMIT for portion in plan.portions)
    if large and "fts" in run.target.capabilities:
        rows = run.rows(plan, "slot", workspaces=chosen)
        while (row := await rows.head()) is not None:
            rows.take()
            if row.slot is not None and plan.portions[row.slot].rows >= MAX_LIMIT:
                rarity.learn((row.content or b"").decode(errors="replace"))
    return rarity


async def _look_elsewhere(run: Run, plan: Plan, findings: Findings) -> int | None:
    """Search the other namespaces for rows that are not where they belong: they may have moved.

    Returns how many were looked for, or None for all.
    """
    lost = [
        UUID(line["id"])
        for line in islice(
            (line for line in findings.differences() if line["result"] in ("missing", "unproven")),
            run.options.max_diffs + 1,
        )
    ]
    ids = lost[: run.options.max_diffs]
    if not ids:
        return 0 if lost else None
    everywhere = make_plan(plan.workspaces, await run.legacy.survey(Selection()))
    names, rarity = sorted(set(everywhere.namespaces.values())), Rarity()
    for row in await run.rows_by_id(plan, ids):
        proper = plan.namespace_of(row.workspace_id, row.scope)
        others = [name for name in names if name != proper]
        seen_in = await _find(run, others, row, rarity)
        if seen_in is not None:
            findings.seen_elsewhere(row.id, row.workspace_id, proper, seen_in)
    return len(ids) if len(lost) > len(ids) else None


async def _find(run: Run, namespaces: Sequence[str], row: LegacyRow, rarity: Rarity) -> str | None:
    for start in range(0, len(namespaces), _NAMES_IN_SEARCH):
        some = namespaces[start : start + _NAMES_IN_SEARCH]
        async for memories in look_for(run.target, some, row, rarity):
            if memory := pick(memories, row.id):
                return memory.namespace
    return None
