"""Retrying a request: when, after which pause, and never past the caller's deadline."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from contract.errors import Unavailable

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
# A longer `Retry-After` counts as this: some have more digits than any time can hold.
_MOST_SECONDS = 1e9

Answer = TypeVar("Answer")


async def repeat(
    request: Callable[[int], Awaitable[Answer]], *, attempts: int, deadline: float
) -> Answer:
    """Make a request up to `attempts` times, as long as it fails with `Unavailable`.

    `request` is called with the number of the attempt, starting at 0. `deadline` is in the loop's
    time.
    """
    number = 0
    while True:
        try:
            return await request(number)
        except Unavailable as error:
            wait = pause(number, error.retry_after)
            number += 1
            if number >= attempts or asyncio.get_running_loop().time() + wait >= deadline:
                raise
        await asyncio.sleep(wait)


def pause(number: int, retry_after: float | None) -> float:
    """Seconds to wait after attempt `number`: what the plugin asked for, or backoff.

    Backoff doubles and is jittered, so that clients that failed together do not retry together.
    """
    if retry_after is not None:
        return retry_after
    longest = min(_FIRST_PAUSE * 2**number, _LONGEST_PAUSE)
    return random.uniform(longest / 2, longest)  # noqa: S311 - jitter needs no secrecy


def read_retry_after(header: str | None) -> float | None:
    """`Retry-After` in seconds; the header is either a number of seconds or a date."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return min(float(header), _MOST_SECONDS)
    try:
        moment = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max((moment - datetime.now(UTC)).total_seconds(), 0.0), _MOST_SECONDS)
