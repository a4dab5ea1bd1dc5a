"""After the load: compares what is stored, by HTTP and by SQL, with what clients were told."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any

import httpx

from tests.faults.cluster import Postgres
from tests.faults.history import History
from tests.faults.plugin import http

_NAMESPACES_A_LIST = 500
_SHOWN = 10

_LIVE_ROWS = """
SELECT id::text, namespace, content, record.kind, propagation::text
  FROM memory_plugin.memory_records AS record
  JOIN memory_plugin.memory_namespaces AS home ON home.name = record.namespace
 WHERE coalesce(home.expires_at, 'infinity') > now()
   AND coalesce(record.expires_at, 'infinity') > now()
"""


async def assert_consistent(history: History, address: str, server: Postgres) -> None:
    """Nothing acknowledged is lost, nothing is duplicated, no read is stale, nobody waited too
    long."""
    await _look_by_http(history, address)
    await _look_by_sql(history, server)
    found = history.contradictions()
    assert not found, f"{len(found)} contradictions, such as:\n" + "\n".join(found[:_SHOWN])


async def _look_by_http(history: History, address: str) -> None:
    names = history.namespaces()
    async with http(address) as client:
        for first in range(0, len(names), _NAMESPACES_A_LIST):
            some = names[first : first + _NAMESPACES_A_LIST]
            start = perf_counter()
            rows = await _list(client, some)
            _record(history, some, rows, start)


async def _look_by_sql(history: History, server: Postgres) -> None:
    start = perf_counter()
    found = await server.fetch(_LIVE_ROWS)
    rows = [{**row, "propagation": json.loads(row["propagation"])} for row in map(dict, found)]
    _record(history, history.namespaces(), rows, start)


async def _list(client: httpx.AsyncClient, names: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cursor = None
    while True:
        asked = {"namespaces": names, "cursor": cursor, "limit": 1000}
        answer = await client.post("/v1/memories/list", json=asked)
        assert answer.status_code == 200, answer.text
        rows += answer.json()["memories"]
        cursor = answer.json()["next_cursor"]
        if cursor is None:
            return rows


def _record(
    history: History, names: Iterable[str], rows: Iterable[Mapping[str, Any]], start: float
) -> None:
    end = perf_counter()
    found = defaultdict(list)
    for row in rows:
        found[row["namespace"]].append(row)
    for name in names:
        history.saw(found.pop(name, []), start, end, whole=name)
    for left in found.values():
        history.saw(left, start, end)
