"""Notifications of changes by `NOTIFY`, on a connection that reconnects when it breaks."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

import asyncpg

from postgres.connection import STORE_FAULTS, close, connect, reason_of
from postgres.settings import DatabaseSettings

_RETRY_SECONDS = 1.0
_PING_SECONDS = 10.0

log = logging.getLogger(__name__)


class Notices:
    """Calls back for every notice on its channels, for as long as `run` runs.

    What was sent while there was no connection is lost: `resumed` is called after every connect,
    including the first, so that the owner can reload everything.
    """

    def __init__(
        self,
        settings: DatabaseSettings,
        channels: Mapping[str, Callable[[str], object]],
        *,
        name: str,
        resumed: Callable[[], object] | None = None,
    ) -> None:
        self._settings = settings
        self._channels = channels
        self._name = name
        self._resumed = resumed

    async def run(self) -> None:
        while True:
            try:
                await self._listen()
            except (TimeoutError, *STORE_FAULTS) as error:
                log.warning("cannot listen for changes", extra={"reason": reason_of(error)})
            await asyncio.sleep(_RETRY_SECONDS)

    async def _listen(self) -> None:
        connection = await connect(
            self._settings, name=self._name, command_timeout=self._settings.statement_timeout
        )
        gone = asyncio.Event()
        connection.add_termination_listener(lambda _: gone.set())
        try:
            for channel, told in self._channels.items():
                await connection.add_listener(channel, _passing_payload(told))
            if self._resumed is not None:
                self._resumed()
            while not connection.is_closed():
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PING_SECONDS):
                        await gone.wait()
                        return
                # If the network has dropped the connection, it would stay silent forever.
                await connection.execute("SELECT 1")
        finally:
            await close(connection)


def _passing_payload(told: Callable[[str], object]) -> Callable[..., None]:
    def pass_payload(_connection: asyncpg.Connection, _pid: int, _channel: str, text: str) -> None:
        told(text)

    return pass_payload
