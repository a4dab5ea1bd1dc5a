"""Several hosts in one URL: each has its own time to answer.

The driver tries one after the other within a single timeout. A host that is gone, which is what the
others are for, often answers nothing at all, and would use up the time of those after it.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import asyncpg

# A host that has not answered by then may be gone: the next one is tried as well.
_HEAD_START_SECONDS = 0.3
# As in the driver: the host is down, starting, or does not accept writes. Other errors count.
_TRY_NEXT = (OSError, asyncpg.CannotConnectNowError, asyncpg.InternalClientError)

Attempt = Callable[[], Coroutine[Any, Any, asyncpg.Connection]]


def one_by_one(url: str) -> list[str]:
    """The URL once for each of its hosts; they are in its authority or its query."""
    parts = urlsplit(url)
    user, at, authority = parts.netloc.rpartition("@")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    hosts = (authority or query.get("host", "")).split(",")
    ports = query.get("port", "").split(",")
    if len(hosts) == 1 or len(ports) not in (1, len(hosts)):
        return [url]
    urls = []
    for place, host in enumerate(hosts):
        own = {**query, "port": ports[place]} if len(ports) > 1 else {**query}
        netloc = f"{user}{at}{host}" if authority else parts.netloc
        if not authority:
            own["host"] = host
        text = urlencode(own, quote_via=quote)
        urls.append(urlunsplit(parts._replace(netloc=netloc, query=text)))
    return urls


async def first(attempts: Sequence[Attempt]) -> asyncpg.Connection:
    """The connection of the attempt that succeeds first.

    Each begins when the one before it has failed or has had its head start.
    """
    if len(attempts) == 1:
        return await attempts[0]()
    waiting = list(reversed(attempts))
    running: set[asyncio.Task[asyncpg.Connection]] = set()
    try:
        while True:
            if waiting:
                running.add(asyncio.create_task(waiting.pop()()))
            done, running = await asyncio.wait(
                running,
                timeout=_HEAD_START_SECONDS if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            made = [task.result() for task in done if task.exception() is None]
            for other in made[1:]:
                other.terminate()
            if made:
                return made[0]
            for error in [task.exception() for task in done]:
                is_last = not (waiting or running)
                if error is not None and (is_last or not isinstance(error, _TRY_NEXT)):
                    raise error
    finally:
        for task in running:
            task.add_done_callback(_drop)
            task.cancel()


def _drop(task: "asyncio.Task[asyncpg.Connection]") -> None:
    if not task.cancelled() and task.exception() is None:
        task.result().terminate()
