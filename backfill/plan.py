"""What a run will do, from the counts alone: which namespaces, in which portions."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from backfill.mapping import Rejection, Workspaces
from backfill.source import Pair, Slots

_NAMESPACES_IN_PORTION = 50
_ROWS_IN_PORTION = 2000


@dataclass
class Portion:
    """Namespaces that are listed together, to avoid many small requests."""

    namespaces: list[str] = field(default_factory=list)
    rows: int = 0
    longest: int = 0


@dataclass(frozen=True)
class Plan:
    """Everything that is known before the first row is read."""

    workspaces: Workspaces
    pairs: Sequence[Pair]
    namespaces: Mapping[tuple[UUID | None, str | None], str]
    rejected: Mapping[tuple[UUID | None, str | None], str]
    portions: Sequence[Portion]
    slots: Slots
    rows: int
    longest: int

    def namespace_of(self, workspace_id: UUID | None, scope: str | None) -> str:
        """The namespace of a row, or `Rejection`."""
        found = self.namespaces.get((workspace_id, scope))
        if found is not None:
            return found
        return self.workspaces.namespace_of(workspace_id, scope)

    def known_workspaces(self) -> list[UUID]:
        """The workspaces that have memories, in order."""
        ids = {pair.workspace_id for pair in self.pairs}
        return sorted(id_ for id_ in ids if id_ is not None and id_ in self.workspaces)


def make_plan(
    workspaces: Workspaces, pairs: Sequence[Pair], *, portion_of_one: bool = False
) -> Plan:
    """Assign a namespace to every pair and a portion to every namespace."""
    namespaces: dict[tuple[UUID | None, str | None], str] = {}
    rejected: dict[tuple[UUID | None, str | None], str] = {}
    counts: Counter[str] = Counter()
    longest: defaultdict[str, int] = defaultdict(int)
    for pair in pairs:
        try:
            name = workspaces.namespace_of(pair.workspace_id, pair.scope)
        except Rejection as reason:
            rejected[pair.workspace_id, pair.scope] = str(reason)
            continue
        namespaces[pair.workspace_id, pair.scope] = name
        counts[name] += pair.rows
        longest[name] = max(longest[name], pair.longest)
    portions: list[Portion] = []
    slot_of: dict[str, int] = {}
    for name in sorted(counts):
        if not portions or portion_of_one or not _fits(portions[-1], counts[name]):
            portions.append(Portion())
        portion = portions[-1]
        portion.namespaces.append(name)
        portion.rows += counts[name]
        portion.longest = max(portion.longest, longest[name])
        slot_of[name] = len(portions) - 1
    mapped = [(key, name) for key, name in namespaces.items() if key[0] and key[1]]
    return Plan(
        workspaces,
        pairs,
        namespaces,
        rejected,
        portions,
        Slots(
            [key[0] for key, _ in mapped if key[0]],
            [key[1] for key, _ in mapped if key[1]],
            [slot_of[name] for _, name in mapped],
        ),
        sum(pair.rows for pair in pairs),
        max((pair.longest for pair in pairs), default=0),
    )


def only(pairs: Sequence[Pair], workspaces: Collection[UUID]) -> list[Pair]:
    """The pairs of these workspaces."""
    return [pair for pair in pairs if pair.workspace_id in workspaces]


def _fits(portion: Portion, rows: int) -> bool:
    return (
        len(portion.namespaces) < _NAMESPACES_IN_PORTION and portion.rows + rows <= _ROWS_IN_PORTION
    )
