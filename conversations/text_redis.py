"""The text of recordings in Redis until they end: fewer writes for PostgreSQL.

A recording is a list of pieces, each prefixed with its offset, and a hash with the length. A script
appends, so that a piece is stored completely or not at all. When the recording ends, its text moves
to PostgreSQL, where replays find it.
"""

import logging
import time
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import asyncpg
import redis.asyncio as redis

from conversations.answers import Row
from conversations.errors import Unavailable
from conversations.recorder import IN_PROGRESS, MAX_RECORDING, Piece
from conversations.statements import load, one
from postgres.database import Database

_KEPT_SECONDS = 24 * 60 * 60
_TIMEOUT_SECONDS = 5.0
_LOOKED_AT = 64

# Returns the new length, or -1 if the recording is closed, or -2 if the piece does not fit there.
_APPEND = """
local length = tonumber(redis.call('HGET', KEYS[1], 'length') or '0')
if redis.call('HGET', KEYS[1], 'closed') then return {-1, length} end
local offset = tonumber(ARGV[1])
local size = tonumber(ARGV[3])
if (offset >= 0 and offset ~= length) or length + size > tonumber(ARGV[4]) then
    return {-2, length}
end
if size > 0 then
    redis.call('RPUSH', KEYS[2], length .. ':' .. ARGV[2])
    redis.call('HSET', KEYS[1], 'length', length + size)
    redis.call('EXPIRE', KEYS[2], ARGV[6])
end
redis.call('HSET', KEYS[1], 'at', ARGV[5])
redis.call('EXPIRE', KEYS[1], ARGV[6])
return {length + size, length + size}
"""

log = logging.getLogger(__name__)


class RedisText:
    """Pieces in Redis, and in PostgreSQL once the recording has ended."""

    def __init__(self, database: Database, url: str) -> None:
        self._database = database
        self._redis = redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_timeout=_TIMEOUT_SECONDS,
            socket_connect_timeout=_TIMEOUT_SECONDS,
        )
        self._append = self._redis.register_script(_APPEND)

    async def close(self) -> None:
        await self._redis.aclose()

    async def append(self, row: Row | None, key: UUID, piece: Piece) -> Row | None:
        offset = -1 if piece.offset is None else piece.offset
        size, now = len(piece.content), time.time()
        limits: list[str | int | float] = [MAX_RECORDING, now, _KEPT_SECONDS]
        arguments = [offset, piece.content, size, *limits]
        outcome, _ = await self._ask(self._append(keys=_keys(key), args=arguments))
        if outcome < 0 or row is None:
            return None
        return {**row, "length": outcome}

    async def current(self, row: Row) -> Row:
        if row["status"] != IN_PROGRESS:
            return row
        length = await self._ask(self._redis.hget(_keys(row["id"])[0], "length"))
        return {**row, "length": max(int(length or 0), row["length"])}

    async def read(self, key: UUID, start: int) -> str:
        pieces = await self._settled(key, start) or await self._pieces(key, start)
        if not pieces:
            # It may have ended in between.
            pieces = await self._settled(key, start)
        if not pieces:
            return ""
        return "".join(text for _, text in pieces)[max(0, start - pieces[0][0]) :]

    async def _settled(self, key: UUID, start: int) -> list[tuple[int, str]]:
        rows = await self._database.fetch(load("read_recorded"), key, start)
        return [(row["first"], row["content"]) for row in rows]

    async def _pieces(self, key: UUID, start: int) -> list[tuple[int, str]]:
        """The pieces from an offset on; readers are usually near the end."""
        looked_at = _LOOKED_AT
        while True:
            raw = await self._ask(self._redis.lrange(_keys(key)[1], -looked_at, -1))
            pieces = [(int(first), text) for first, _, text in (it.partition(":") for it in raw)]
            if len(raw) < looked_at or pieces[0][0] <= start:
                return pieces
            looked_at *= 4

    async def settle(self, connection: asyncpg.Connection, row: Row) -> Row:
        if row["length"]:
            return row  # done before
        state, pieces = _keys(row["id"])
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hset(state, "closed", "1")
        pipeline.expire(state, _KEPT_SECONDS)
        pipeline.lrange(pieces, 0, -1)
        *_, raw = await self._ask(pipeline.execute())
        text = "".join(piece.partition(":")[2] for piece in raw)
        if not text:
            return row
        return await one(
            connection, "append_recorded", row["id"], row["agent_id"], 0, text, MAX_RECORDING
        )

    async def reopen(self, key: UUID) -> None:
        # PostgreSQL has rolled the end back; Redis does not know.
        await self._ask(self._redis.hdel(_keys(key)[0], "closed"))

    async def is_quiet(self, row: Row, idle: timedelta) -> bool:
        at = await self._ask(self._redis.hget(_keys(row["id"])[0], "at"))
        return at is None or time.time() - float(at) > idle.total_seconds()

    async def forget(self, keys: Sequence[UUID]) -> None:
        pipeline = self._redis.pipeline(transaction=True)
        for key in keys:
            state, pieces = _keys(key)
            # A late piece must not be accepted after this.
            pipeline.hset(state, "closed", "1")
            pipeline.expire(state, _KEPT_SECONDS)
            pipeline.unlink(pieces)
        with suppress(Unavailable):  # it expires soon
            await self._ask(pipeline.execute())

    @staticmethod
    async def _ask(answer: Any) -> Any:
        try:
            return await cast(Awaitable[Any], answer)
        except (redis.RedisError, OSError) as error:
            log.warning("redis failed", extra={"reason": type(error).__name__})
            raise Unavailable("the response store cannot be reached") from None


def _keys(key: UUID) -> list[str]:
    return [f"memory-conversations:{key}:state", f"memory-conversations:{key}:text"]
