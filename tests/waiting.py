"""Waiting for what must happen: for the event, never for a time, because a busy machine is slow."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

# Only what never happens takes this long.
SECONDS = 120.0
_PAUSE_SECONDS = 0.02


def until(happened: Callable[[], Any], otherwise: str = "it does not happen") -> Any:
    """Wait for a condition to hold, and return what it says."""
    deadline = time.monotonic() + SECONDS
    while not (value := happened()):
        assert time.monotonic() < deadline, otherwise
        time.sleep(_PAUSE_SECONDS)
    return value


async def eventually(
    happened: Callable[[], Any | Awaitable[Any]], otherwise: str = "it does not happen"
) -> Any:
    """The same for asynchronous tests; the condition may be asynchronous, too."""
    deadline = time.monotonic() + SECONDS
    while True:
        value = happened()
        if inspect.isawaitable(value):
            value = await value
        if value:
            return value
        assert time.monotonic() < deadline, otherwise
        await asyncio.sleep(_PAUSE_SECONDS)


def pass_time(seconds: float) -> None:
    """Put the clock of the running event loop forward: what is due until then is due at once."""
    loop = asyncio.get_running_loop()
    now = loop.time
    # For good: a clock that went back would delay what others are waiting for.
    loop.time = lambda: now() + seconds  # type: ignore[method-assign]
