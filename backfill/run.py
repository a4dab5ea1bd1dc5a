"""What the modes share: the options of a run, and its two sides."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from backfill.mapping import LegacyRow
from backfill.plan import Plan
from backfill.progress import Reporter
from backfill.selection import Selection
from backfill.source import Legacy, Order
from backfill.stream import Stream
from backfill.target import PATIENCE, Target

BATCHES_AT_ONCE = 4
SINGLES_AT_ONCE = 32


@dataclass(frozen=True)
class Options:
    """Everything that the operator may choose."""

    database_url: str
    plugin_url: str
    selection: Selection
    state_dir: Path
    request_timeout: str | None = None
    verify_sample: int | None = 50
    seed: int | None = None
    concurrency: int | None = None
    max_rps: float | None = None
    patience: float = PATIENCE
    max_diffs: int = 100
    no_extras: bool = False
    json: Path | None = None
    rejects: Path | None = None
    show_content: bool = False
    restart: bool = False


@dataclass(frozen=True)
class Run:
    """The two sides, and where to report progress."""

    options: Options
    legacy: Legacy
    target: Target
    reporter: Reporter

    @property
    def width(self) -> int:
        """How many requests may be in flight at once."""
        default = BATCHES_AT_ONCE if "batch" in self.target.extensions else SINGLES_AT_ONCE
        return self.options.concurrency or default

    def rows(
        self,
        plan: Plan,
        order: Order,
        *,
        workspaces: Sequence[UUID] | None = None,
        ids: Sequence[UUID] | None = None,
        embeddings: bool = False,
    ) -> Stream[LegacyRow]:
        """The legacy rows of a plan."""
        return Stream(
            self.legacy.rows(
                self.options.selection,
                plan.slots,
                order=order,
                longest=plan.longest,
                workspaces=workspaces,
                ids=ids,
                embeddings=embeddings,
            )
        )

    async def rows_by_id(self, plan: Plan, ids: Sequence[UUID]) -> list[LegacyRow]:
        """A few rows, all at once."""
        pages = self.legacy.rows(
            self.options.selection,
            plan.slots,
            order="oldest",
            longest=plan.longest,
            ids=ids,
            embeddings="embedding" in self.target.capabilities,
        )
        return [row async for page in pages for row in page]
