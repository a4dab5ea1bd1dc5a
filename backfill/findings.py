"""What verify found: counted in memory, kept line by line in a temporary file."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from backfill.lines import Lines
from backfill.mapping import LegacyRow, Rejection, content_of
from backfill.probe import hash_of

Absent = Literal["missing", "unproven"]
Word = Literal[Absent, "different", "wrong namespace"]
MISMATCHES: tuple[Word, ...] = ("missing", "different", "wrong namespace")
_ELSEWHERE_KEPT = 100_000
# Some stores keep only milliseconds or seconds; the time of a copy is off by far more.
_SAME_TIME = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Seen:
    """Where the target has a row, with which content and which `created_at`."""

    namespace: str
    content_sha256: str
    created_at: datetime | None = None


class Findings:
    """Rows that match, rows that do not, and rows that only the target has."""

    def __init__(self, *, show_content: bool = False) -> None:
        self.compared = 0
        self.matched = 0
        self.counts: Counter[Word] = Counter()
        """The compared rows that do not match."""
        self.strays = 0
        """Legacy rows that are not compared and were seen in a wrong namespace."""
        self.extras = 0
        self.other_times = 0
        """Rows whose `created_at` was checked and differs from the legacy row's."""
        self.rejected: Counter[str] = Counter()
        self.bad_workspaces: set[str] = set()
        self._show_content = show_content
        self._differences = Lines()
        self._extra_lines = Lines()
        self._elsewhere: dict[str, str] = {}

    def close(self) -> None:
        """Delete the lines; the counts stay."""
        self._differences.close()
        self._extra_lines.close()

    @property
    def mismatches(self) -> int:
        """How many rows are certainly wrong."""
        return sum(self.counts[word] for word in MISMATCHES) + self.strays

    def judge(
        self,
        row: LegacyRow,
        namespace: str,
        seen: Seen | None,
        absent: Absent,
    ) -> None:
        """Compare a row with what the target has; the outcome is `absent` if it has nothing."""
        try:
            content = content_of(row)
        except Rejection as reason:
            self.rejected[str(reason)] += 1
            return
        self.compared += 1
        digest = hash_of(content)
        more: dict[str, Any] = {"legacy_sha256": digest}
        if self._show_content:
            more["content"] = content
        if seen is None:
            self._add(absent, row.id, row.workspace_id, namespace, more)
        elif seen.namespace != namespace:
            self.seen_elsewhere(row.id, row.workspace_id, namespace, seen.namespace)
        elif seen.content_sha256 != digest:
            more["target_sha256"] = seen.content_sha256
            self._add("different", row.id, row.workspace_id, namespace, more)
        else:
            self.matched += 1
            self.look_at_time(row, seen.created_at)

    def look_at_time(self, row: LegacyRow, created_at: datetime | None) -> None:
        """Count a row if the target has another `created_at` for it."""
        if created_at is not None and not is_same_time(row.created_at, created_at):
            self.other_times += 1

    def seen_elsewhere(
        self,
        row_id: UUID,
        workspace_id: UUID | None,
        namespace: str,
        seen_in: str,
        *,
        is_compared: bool = True,
    ) -> None:
        """Note a row in a wrong namespace; it may have been counted as missing already."""
        if str(row_id) in self._elsewhere:
            return
        if len(self._elsewhere) < _ELSEWHERE_KEPT:
            self._elsewhere[str(row_id)] = seen_in
        more: dict[str, Any] = {"seen_in": seen_in}
        if is_compared:
            self._add("wrong namespace", row_id, workspace_id, namespace, more)
        else:
            self.strays += 1
            more["compared"] = False
            self._note("wrong namespace", row_id, workspace_id, namespace, more)

    def add_extra(self, row_id: UUID, namespace: str) -> None:
        """One row that only the target has."""
        self.extras += 1
        self._extra_lines.add({"id": str(row_id), "namespace": namespace})

    def settle(self) -> None:
        """Count each row once: a row that was seen elsewhere is not missing as well."""
        self.counts = Counter(
            line["result"] for line in self.differences() if line.get("compared", True)
        )

    def differences(self) -> Iterator[dict[str, Any]]:
        """One object for each row that does not match."""
        for line in self._differences:
            absent = line["result"] in ("missing", "unproven")
            if not (absent and line["id"] in self._elsewhere):
                yield line

    def extra_rows(self) -> Iterator[dict[str, Any]]:
        """One object for each row that only the target has."""
        return iter(self._extra_lines)

    def _add(
        self,
        word: Word,
        row_id: UUID,
        workspace_id: UUID | None,
        namespace: str,
        more: dict[str, Any],
    ) -> None:
        self.counts[word] += 1
        if word in MISMATCHES:
            self.bad_workspaces.add(str(workspace_id))
        self._note(word, row_id, workspace_id, namespace, more)

    def _note(
        self,
        word: Word,
        row_id: UUID,
        workspace_id: UUID | None,
        namespace: str,
        more: dict[str, Any],
    ) -> None:
        self._differences.add(
            {
                "id": str(row_id),
                "result": word,
                "namespace": namespace,
                "workspace_id": None if workspace_id is None else str(workspace_id),
                **more,
            }
        )


def is_same_time(legacy: datetime | None, target: datetime) -> bool:
    """Whether the target has the legacy row's time, to the precision of common stores.

    For a row whose time the contract cannot express, any time will do.
    """
    return legacy is None or abs(legacy - target) < _SAME_TIME
