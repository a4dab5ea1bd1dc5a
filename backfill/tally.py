"""The counts of an apply: every scanned row is either written or rejected."""

from dataclasses import dataclass
from typing import Any

from backfill.errors import Unaccounted
from backfill.mapping import LegacyRow
from backfill.progress import Reporter
from backfill.rejects import Rejects


@dataclass
class Tally:
    """Counts rows as they are settled. `unchanged` ones were there before, and count as written."""

    reporter: Reporter
    rejects: Rejects
    scanned: int = 0
    written: int = 0
    unchanged: int = 0
    without_time: int = 0
    other_times: int = 0
    """Rows that had a different `created_at` and were rewritten to correct it."""

    def wrote(self, row: LegacyRow) -> None:
        """The plugin has acknowledged it."""
        self.written += 1
        if row.created_at is None:
            self.without_time += 1
        self.reporter.advance()

    def found(self, count: int = 1) -> None:
        """The plugin has it already, and it is equal."""
        self.written += count
        self.unchanged += count
        self.reporter.advance(count)

    def reject(self, row: LegacyRow, reason: str) -> dict[str, Any]:
        """It cannot be copied; returns its line in the rejects file."""
        self.reporter.advance()
        return self.rejects.add(row, reason)

    def close(self, expected: int) -> None:
        """Raise unless every row of the snapshot is accounted for."""
        settled = self.written + self.rejects.count
        if not expected == self.scanned == settled:
            raise Unaccounted(
                f"the counts do not add up: the snapshot has {expected:,} rows,"
                f" {self.scanned:,} were scanned, {self.written:,} written and"
                f" {self.rejects.count:,} rejected; do not trust this run, run -verify --verify-all"
            )
