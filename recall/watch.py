"""Settings, keys and turns, cached in this worker and checked against PostgreSQL on every request.

The check is one small query, and all requests that arrive while it runs share the next one. So a
change takes effect with the next request on any worker, at the cost of one round trip.
"""

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256

from postgres.database import Database
from postgres.errors import StoreUnavailable
from recall.configuration import Configuration, stored_configuration
from recall.ledger import STATEMENTS

_REST_SECONDS = 1.0
# A look is slow if it takes three ticks, of a fifth of a request's time each. While this worker is
# busy itself, its clock does not tick: that time is not the database's.
_TICKS = 3
_TICKS_IN_BUDGET = 5
_SHORTEST_TICK = 0.05
_MAX_KEYS = 10_000
_MAX_OWNERS = 10_000

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KnownKey:
    """An API key as the proxy needs it; `id` is the owner of its memories."""

    id: str
    disabled: bool


@dataclass(frozen=True)
class Choice:
    """The block that was chosen for a turn, and the memories in it."""

    block: str = field(repr=False)
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Glance:
    """A snapshot of the versions in PostgreSQL."""

    settings_version: int
    keys_version: int
    all_edits: int
    own_edits: int
    shared_edits: int
    seen: str | None = None
    choice: Choice | None = None

    def mark(self, scope: str) -> str:
        """What a choice depends on: a choice with another mark is invalid."""
        everybody = self.all_edits if scope == "global" else 0
        return f"{self.settings_version}:{self.own_edits}:{self.shared_edits}:{everybody}"


@dataclass
class _Asked:
    owner: str | None
    digest: bytes | None
    answer: asyncio.Future[Glance]


class Watch:
    """Reads the state for this worker. While PostgreSQL is unavailable, the last one is used."""

    def __init__(
        self, database: Database, configured: Callable[[Configuration], None] | None = None
    ) -> None:
        self._database = database
        self._configured = configured
        self._waiting: list[_Asked] = []
        self._looking: asyncio.Task[None] | None = None
        self._down_until = 0.0
        self._ticks = 0
        self._clock: asyncio.TimerHandle | None = None
        self._configuration = Configuration()
        self._settings_version = 0
        self._keys: OrderedDict[bytes, tuple[int, KnownKey | None]] = OrderedDict()
        self._glances: OrderedDict[str, Glance] = OrderedDict()

    @property
    def last_configuration(self) -> Configuration:
        """The settings as they were last seen."""
        return self._configuration

    async def look(self, owner: str | None = None, digest: bytes | None = None) -> Glance:
        """The current state, for an owner and a turn; raises `StoreUnavailable`."""
        loop = asyncio.get_running_loop()
        if self.is_suspect:
            raise StoreUnavailable("the database was unavailable a moment ago")
        asked = _Asked(owner, digest, loop.create_future())
        self._waiting.append(asked)
        if self._looking is None:
            self._looking = loop.create_task(self._look())
        return await asked.answer

    @property
    def is_suspect(self) -> bool:
        """Whether the database was unavailable a moment ago."""
        return asyncio.get_running_loop().time() < self._down_until

    def timed_out(self) -> None:
        """Record that a request ran out of time while it waited for a look.

        If the database is slow, other requests do not wait for it for a while.
        """
        if self._looking is not None and self._ticks >= _TICKS:
            self._rest()

    def _rest(self) -> None:
        self._down_until = asyncio.get_running_loop().time() + _REST_SECONDS

    def _tick(self, ticks: int = 0) -> None:
        self._ticks = ticks
        seconds = max(
            _SHORTEST_TICK, self._configuration.retrievalBudgetMs / 1000 / _TICKS_IN_BUDGET
        )
        later = asyncio.get_running_loop().call_later
        self._clock = later(seconds, self._tick, ticks + 1)

    async def configuration(self, glance: Glance | None = None) -> Configuration:
        """The current settings; raises `StoreUnavailable`."""
        version = (glance or await self.look()).settings_version
        if version > self._settings_version:
            row = await self._database.fetchrow(STATEMENTS.load("read_settings"))
            if row is not None and row["settings_version"] > self._settings_version:
                self._configuration = stored_configuration(row["settings"])
                self._settings_version = row["settings_version"]
                if self._configured is not None:
                    self._configured(self._configuration)
        return self._configuration

    async def key(self, token: str, glance: Glance) -> KnownKey | None:
        """The API key with this token, as of the glance."""
        digest = hash_of(token)
        known = self._keys.get(digest)
        if known is not None and known[0] >= glance.keys_version:
            return known[1]
        row = await self._database.fetchrow(STATEMENTS.load("find_key"), digest)
        found = None
        if row is not None and row["id"] is not None:
            found = KnownKey(row["id"], row["disabled"])
        self._keys[digest] = (glance.keys_version if row is None else row["keys_version"], found)
        self._keys.move_to_end(digest)
        while len(self._keys) > _MAX_KEYS:
            self._keys.popitem(last=False)
        return found

    def has_seen(self, token: str) -> bool:
        """Whether this token was looked up before, also if it is no key."""
        return hash_of(token) in self._keys

    def last_key(self, token: str) -> KnownKey | None:
        """The API key with this token, as it was last seen."""
        known = self._keys.get(hash_of(token))
        return None if known is None else known[1]

    def last_mark(self, owner: str, scope: str) -> str | None:
        """The mark of an owner's choices, as of the last glance."""
        glance = self._glances.get(owner)
        if glance is None or glance.settings_version != self._settings_version:
            return None
        return glance.mark(scope)

    async def keep(self, digest: bytes, mark: str, choice: Choice, until: datetime | None) -> None:
        """Store what was chosen for a turn, for all workers. Failures are ignored."""
        with contextlib.suppress(StoreUnavailable):
            await self._database.execute(
                STATEMENTS.load("keep_turn"),
                digest,
                mark,
                choice.block,
                # A string: asyncpg takes longer to encode an array than PostgreSQL to split it.
                ",".join(choice.ids),
                until,
            )

    async def claim(self, digest: bytes) -> bool:
        """Whether the message of a turn has not been learned from yet; true only once."""
        return bool(await self._database.fetchval(STATEMENTS.load("claim_turn"), digest))

    async def aclose(self) -> None:
        """Release all waiting callers."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look(self) -> None:
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, []
                self._tick()
                try:
                    await self._answer(asked)
                    self._down_until = 0.0
                except BaseException as error:
                    failure = (
                        error
                        if isinstance(error, StoreUnavailable)
                        else StoreUnavailable("the state cannot be read")
                    )
                    for one in asked:
                        if not one.answer.done():
                            one.answer.set_exception(failure)
                    if not isinstance(error, StoreUnavailable):
                        raise
                    self._rest()
                finally:
                    if self._clock is not None:
                        self._clock.cancel()
        finally:
            self._looking = None

    async def _answer(self, asked: list[_Asked]) -> None:
        rows = await self._database.fetch(
            STATEMENTS.load("glance"),
            [one.owner for one in asked],
            [one.digest for one in asked],
        )
        for one, row in zip(asked, rows, strict=True):
            if one.answer.done():
                continue
            choice = None
            if row["block"] is not None:
                ids = row["ids"].split(",") if row["ids"] else ()
                choice = Choice(row["block"], tuple(ids))
            glance = Glance(
                row["settings_version"],
                row["keys_version"],
                row["all_edits"],
                row["own_edits"],
                row["shared_edits"],
                row["seen"],
                choice,
            )
            one.answer.set_result(glance)
            if one.owner is not None:
                self._remember(one.owner, replace(glance, choice=None))

    def _remember(self, owner: str, glance: Glance) -> None:
        self._glances[owner] = glance
        self._glances.move_to_end(owner)
        while len(self._glances) > _MAX_OWNERS:
            self._glances.popitem(last=False)


def hash_of(token: str) -> bytes:
    """The stored hash of a token."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
