"""The signal to stop, for streams that would otherwise never end.

A stream that does not end by itself within the time for shutting down is cut off.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, TypeVar

STATE = "stopping"
"""The key of the event in the state of a request's scope."""

Item = TypeVar("Item")


def stopping(scope: Mapping[str, Any]) -> asyncio.Event:
    """The event that is set when the server begins to stop. A `Request` is a scope too."""
    event = scope.get("state", {}).get(STATE)
    return event if isinstance(event, asyncio.Event) else asyncio.Event()


async def until_stopping(
    scope: Mapping[str, Any], items: AsyncIterator[Item]
) -> AsyncIterator[Item]:
    """The items of a stream, until it ends or the server begins to stop."""
    stop = asyncio.ensure_future(stopping(scope).wait())
    following: asyncio.Future[Item] | None = None
    try:
        while not stop.done():
            following = asyncio.ensure_future(anext(items))
            await asyncio.wait((following, stop), return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                return
            try:
                item = following.result()
            except StopAsyncIteration:
                return
            following = None
            yield item
    finally:
        stop.cancel()
        if following is not None:
            if not following.done():
                following.cancel()
                await asyncio.wait((following,))
            # If the stream was cut off, nobody else asks how its last item ended, and asyncio logs
            # that as an error.
            if not following.cancelled():
                following.exception()
        if isinstance(items, AsyncGenerator):
            await items.aclose()
