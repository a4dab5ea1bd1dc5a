"""Which rows a run is about."""

from dataclasses import dataclass
from uuid import UUID

from backfill.wording import counted


@dataclass(frozen=True)
class Selection:
    """One workspace or all, and the oldest `limit` rows of that or all of them."""

    workspace: UUID | None = None
    limit: int | None = None

    @property
    def is_everything(self) -> bool:
        """Whether no row is left out."""
        return self.workspace is None and self.limit is None

    def __str__(self) -> str:
        what = "all rows" if self.limit is None else f"the oldest {counted(self.limit, 'row')}"
        return what if self.workspace is None else f"{what} of workspace {self.workspace}"
