"""Newest first for many callers: searches that arrive while one runs share the next statement.

Every turn of an agent starts with such a search, and most of the cost of a small one is the round
trip to the database. Nobody waits for long: if no search is running, one runs alone and at once;
one that may read many memories never shares; and nobody waits for a statement that is late.
"""

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from contract import MemoryPluginError, Unavailable
from plugin_postgres import rows, sql
from plugin_postgres.database import Database
from postgres.connection import reason_of
from postgres.errors import StoreUnavailable

# At most how many memories a shared statement may read, in all and per caller.
_SHARED_ROWS = 500
_OWN_ROWS = 125
# Such a statement takes a few milliseconds. One that takes longer is waiting for a disk or a lock,
# and then several at a time are better.
_LATE_SECONDS = 0.02

Memories = list[dict[str, Any]]

log = logging.getLogger(__name__)


def _future() -> "asyncio.Future[Memories]":
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True)
class _Search:
    namespaces: list[str]
    limit: int
    found: "asyncio.Future[Memories]" = field(default_factory=_future)

    @property
    def rows(self) -> int:
        """At most how many memories the database reads."""
        return len(self.namespaces) * self.limit


class NewestQueue:
    """Searches without a query, alone or together."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: deque[_Search] = deque()
        self._ahead: asyncio.TimerHandle | None = None
        self._groups: set[asyncio.Task[None]] = set()

    async def find(self, namespaces: list[str], limit: int) -> Memories:
        """The newest memories of these distinct namespaces."""
        search = _Search(namespaces, limit)
        if search.rows > _OWN_ROWS:
            return await self._find_alone(search)
        if self._ahead is not None:
            self._waiting.append(search)
            return await search.found
        timer = self._set_out()
        try:
            return await self._find_alone(search)
        finally:
            self._arrive(timer)

    def _set_out(self) -> asyncio.TimerHandle:
        """From now on the others wait until this one is done or late."""
        self._ahead = asyncio.get_running_loop().call_later(_LATE_SECONDS, self._let_next_go)
        return self._ahead

    def _arrive(self, timer: asyncio.TimerHandle) -> None:
        timer.cancel()
        if self._ahead is timer:
            self._let_next_go()

    def _let_next_go(self) -> None:
        self._ahead = None
        if group := self._take():
            task = asyncio.create_task(self._find_together(group, self._set_out()))
            self._groups.add(task)
            task.add_done_callback(self._groups.discard)

    def _take(self) -> list[_Search]:
        group: list[_Search] = []
        size = 0
        while self._waiting and size + self._waiting[0].rows <= _SHARED_ROWS:
            search = self._waiting.popleft()
            if not search.found.done():  # else its caller is gone
                group.append(search)
                size += search.rows
        return group

    async def _find_alone(self, search: _Search) -> Memories:
        statement = sql.load("search_newest")
        found = await self._database.fetch(statement, search.namespaces, search.limit)
        return [rows.memory(*row) for row in found]

    async def _find_together(self, group: list[_Search], timer: asyncio.TimerHandle) -> None:
        statement = sql.load("search_newest_for_many")
        try:
            found = await self._database.fetch(statement, *_arguments(group))
            answers = _by_search(found, len(group))
        except (MemoryPluginError, StoreUnavailable) as error:
            for search in group:
                _fail(search, error)
        except Exception as error:  # noqa: BLE001 - who is to blame gets it below, with its text
            # A row that cannot be converted: only its own request fails.
            log.error("shared search failed", extra={"reason": reason_of(error)})
            for search in group:
                await self._find_for(search)
        else:
            for search, memories in zip(group, answers, strict=True):
                _succeed(search, memories)
        finally:
            # No caller waits forever, even if this task is cancelled.
            for search in group:
                _fail(search, Unavailable("the search was aborted", retry_after=1))
            self._arrive(timer)

    async def _find_for(self, search: _Search) -> None:
        try:
            _succeed(search, await self._find_alone(search))
        except Exception as error:  # noqa: BLE001 - it is raised where the search was asked for
            _fail(search, error)


def _arguments(group: list[_Search]) -> tuple[list[str], list[int], list[int], list[int]]:
    names: list[str] = []
    first: list[int] = []
    last: list[int] = []
    for search in group:
        first.append(len(names) + 1)
        names += search.namespaces
        last.append(len(names))
    return names, first, last, [search.limit for search in group]


def _by_search(found: list[asyncpg.Record], count: int) -> list[Memories]:
    answers: list[Memories] = [[] for _ in range(count)]
    for row in found:
        answers[row[0] - 1].append(rows.memory(*row[1:]))
    return answers


def _succeed(search: _Search, memories: Memories) -> None:
    if not search.found.done():
        search.found.set_result(memories)


def _fail(search: _Search, error: Exception) -> None:
    if not search.found.done():
        search.found.set_exception(error)
