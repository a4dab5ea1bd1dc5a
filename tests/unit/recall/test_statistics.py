"""Counts that are kept for a moment are never kept beyond the first expiry."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from recall.ledger import Sizes
from recall.selection import Selection
from recall.statistics import Statistics

pytestmark = pytest.mark.anyio


class Counting:
    """A store, its plugin and its ledger, with one memory that expires after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.plugin = self
        self.counted = 0
        self._until = datetime.now(UTC) + timedelta(seconds=seconds)

    async def is_browsable(self) -> bool:
        return True

    async def edits(self) -> int:
        return 0

    async def count_types(self, _selection: Selection) -> dict[str, int]:
        self.counted += 1
        return {"factual": 1}

    async def sizes(self, _selection: Selection, *, everybody: bool) -> Sizes:
        assert not everybody
        return Sizes(1, 1, self._until)


@pytest.mark.parametrize(("seconds", "counted"), [(3600, 1), (0, 2)])
async def test_a_count_is_made_again_after_a_memory_expired(seconds: float, counted: int) -> None:
    source = Counting(seconds)
    statistics = Statistics(cast(Any, source), cast(Any, source), cast(Any, None))
    for _ in range(2):
        await statistics.counted(Selection(("ada",)), everybody=False)
    assert source.counted == counted
