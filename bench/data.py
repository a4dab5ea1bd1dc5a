"""The memories that the measures search: sentences of rare, common and ordinary words."""

import asyncio
import time

from bench.stage import connection, execute

NAMESPACES = 200
# Words that are each in every eighth memory, independently of each other.
COMMON = ("harbour", "lantern")
SORT_IN = "SELECT gin_clean_pending_list('memory_plugin.memory_records_words')"

_NAMESPACES = """
INSERT INTO memory_namespaces (name, kind)
SELECT 'workspace:' || n, 'workspace' FROM generate_series(0, $1 - 1) AS n
ON CONFLICT DO NOTHING
"""

# `rareN` is in memory N alone. The ordinary words come from a list of 3,000.
_MEMORIES = """
INSERT INTO memory_records (namespace, content, kind, source, created_at, propagation)
SELECT
    'workspace:' || n % $3,
    concat_ws(
        ' ',
        'The agent noted that service', 'svc-' || n % 5000, 'needs', 'rare' || n, 'before',
        'u' || n * 7919 % 3000, 'u' || n * 104729 % 3000, 'and', 'u' || n * 1299709 % 3000,
        CASE WHEN n / $3 % 8 = 0 THEN 'harbour' END,
        CASE WHEN n / $3 / 8 % 8 = 0 THEN 'lantern' END,
        'as the user prefers short answers with sources'
    ),
    CASE WHEN n % 10 = 0 THEN 'summary' ELSE 'fact' END,
    'agent',
    now() - (100000000 - n) * interval '1 second',
    {propagation}
FROM generate_series($1::bigint, $2::bigint) AS n
"""


def fill(
    url: str,
    first: int,
    last: int,
    *,
    namespaces: int = NAMESPACES,
    propagation: str = "NULL",
) -> None:
    """Insert the memories from number `first` to number `last`; `propagation` is SQL over n."""
    memories = _MEMORIES.format(propagation=propagation)

    async def run() -> None:
        async with connection(url) as opened:
            await opened.execute(_NAMESPACES, namespaces)
            for start in range(first, last + 1, 20_000):
                end = min(start + 19_999, last)
                await opened.execute(memories, start, end, namespaces)

    asyncio.run(run())
    asyncio.run(execute(url, "VACUUM ANALYZE memory_records", "CHECKPOINT"))


def sort_in(url: str) -> float:
    """Merge all new words into the index; returns the seconds that this takes."""
    began = time.perf_counter()
    asyncio.run(execute(url, SORT_IN))
    return time.perf_counter() - began
