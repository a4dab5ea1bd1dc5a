"""Splits files into chunks, each in a separate process that may take at most 30 seconds."""

import asyncio
import logging
import sys
from contextlib import suppress
from typing import IO

import orjson

from gateway.documents import MAX_SECONDS, Blank, Unreadable

_AT_ONCE = 2
_LIMIT = 2**27  # bytes of output to buffer

log = logging.getLogger(__name__)


class Extractor:
    """Starts a process for each file, at most `_AT_ONCE` at a time."""

    def __init__(self, *, redact: bool) -> None:
        self._redact = redact
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def chunks(self, file: IO[bytes], kind: str, charset: str | None) -> list[str]:
        """The chunks of a file, secrets replaced; raises `Unreadable`."""
        asked = {"format": kind, "charset": charset, "redact": self._redact}
        async with self._gate:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # import nothing from the working directory
                "-m",
                "gateway.documents",
                orjson.dumps(asked).decode(),
                stdin=file,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=_LIMIT,
                start_new_session=True,
            )
            try:
                async with asyncio.timeout(MAX_SECONDS):
                    printed, _ = await process.communicate()
            except TimeoutError:
                raise Unreadable("Reading the file took more than 30 seconds.") from None
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        try:
            answer = orjson.loads(printed)
        except orjson.JSONDecodeError:
            log.warning("a file could not be read", extra={"exit": process.returncode})
            raise Unreadable("Reading the file took too much memory or time.") from None
        if "error" in answer:
            raise (Blank if answer.get("is_blank") else Unreadable)(answer["error"])
        found: list[str] = answer["chunks"]
        return found
