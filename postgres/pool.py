"""A connection pool that costs a few microseconds per use; asyncpg's own costs sixty.

It can be so small because nothing is ever left on a connection that would have to be reset, and
because a connection in an unknown state is closed instead of repaired. A new connection is made in
the background: if its caller stops waiting, the next caller gets it.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import asyncpg

# Shorter than firewalls and NAT keep an idle connection.
IDLE_SECONDS = 120.0
# Where the server allows no more connections, asking again for each request would keep it busy.
_REFUSED_SECONDS = 0.5


class Pool:
    """At most `size` connections, made on demand by `connect`, and closed when idle for long."""

    def __init__(
        self,
        connect: Callable[[], Coroutine[Any, Any, asyncpg.Connection]],
        size: int,
        *,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._idle_seconds = idle_seconds
        self._connect = connect
        self._size = size
        self._idle: list[asyncpg.Connection] = []
        # When each was last used: a network may silently drop connections that are idle for long.
        self._used_at: dict[asyncpg.Connection, float] = {}
        self._sweeper: asyncio.TimerHandle | None = None
        self._used: set[asyncpg.Connection] = set()
        self._stale: set[asyncpg.Connection] = set()
        self._growing: set[asyncio.Task[asyncpg.Connection]] = set()
        self._waiting: deque[asyncio.Future[asyncpg.Connection]] = deque()
        self._refused_at = -math.inf

    @property
    def size(self) -> int:
        """Connections that are open or being made."""
        return len(self._idle) + len(self._used) + len(self._growing)

    @property
    def used(self) -> int:
        return len(self._used)

    async def acquire(self, timeout: float) -> asyncpg.Connection:  # noqa: ASYNC109
        """A connection; raises the error of making one, or TimeoutError."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                self._used.add(connection)
                return connection
            self._end(connection)
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[asyncpg.Connection] = loop.create_future()
        self._waiting.append(turn)
        self._grow()
        # Every request of a busy plugin waits here, and a timer costs a fifth of asyncio.timeout.
        timer = loop.call_later(timeout, _time_out, turn)
        try:
            return await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.release(turn.result())  # it arrived at the moment of the timeout
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise
        finally:
            timer.cancel()

    def release(self, connection: asyncpg.Connection) -> None:
        """Return a connection; one that is broken or in a transaction is closed."""
        self._used.discard(connection)
        if connection in self._stale or connection.is_closed() or connection.is_in_transaction():
            self._stale.discard(connection)
            self._end(connection)
            if self._waiting:
                self._grow()
        else:
            self._hand_over(connection)

    def expire(self) -> None:
        """Close every connection; those in use when they are released."""
        self.expire_idle()
        self._stale |= self._used

    def is_expired(self, connection: asyncpg.Connection) -> bool:
        """Whether a connection in use will be closed when it is released."""
        return connection in self._stale

    def expire_idle(self) -> None:
        """Close idle connections: if one has broken, the idle ones probably have too."""
        while self._idle:
            self._end(self._idle.pop())

    async def close(self) -> None:
        """Close idle connections gracefully and all others by force."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for task in self._growing:
            task.cancel()
        for connection in list(self._used):
            connection.terminate()
        while self._idle:
            await self._idle.pop().close(timeout=1)

    def _grow(self) -> None:
        now = asyncio.get_running_loop().time()
        is_refused = self._used and now - self._refused_at < _REFUSED_SECONDS
        if self.size < self._size and not is_refused:
            task = asyncio.create_task(self._connect())
            self._growing.add(task)
            task.add_done_callback(self._grown)

    def _grown(self, task: "asyncio.Task[asyncpg.Connection]") -> None:
        self._growing.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            self._hand_over(task.result())
        else:
            self._refused_at = asyncio.get_running_loop().time()
            self._fail_waiting(error)

    def _hand_over(self, connection: asyncpg.Connection) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                self._used.add(connection)
                turn.set_result(connection)
                return
        loop = asyncio.get_running_loop()
        self._used_at[connection] = loop.time()
        self._idle.append(connection)
        if self._sweeper is None:
            self._sweeper = loop.call_later(self._idle_seconds / 2, self._sweep)

    def _sweep(self) -> None:
        """Close connections that have been idle for too long; repeat while any is idle."""
        loop = asyncio.get_running_loop()
        oldest = loop.time() - self._idle_seconds
        kept = []
        for connection in self._idle:
            if self._used_at.get(connection, oldest) > oldest:
                kept.append(connection)
            else:
                self._end(connection)
        self._idle = kept
        self._sweeper = loop.call_later(self._idle_seconds / 2, self._sweep) if kept else None

    def _end(self, connection: asyncpg.Connection) -> None:
        self._used_at.pop(connection, None)
        connection.terminate()

    def _fail_waiting(self, error: BaseException) -> None:
        """Fail one waiting caller, or all of them if no other connection is being made.

        None while one is in use: the next can have that when it is released.
        """
        while self._waiting and not self._used:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(error)
                if self.size:
                    return


def _time_out(turn: "asyncio.Future[asyncpg.Connection]") -> None:
    if not turn.done():
        turn.set_exception(TimeoutError())
