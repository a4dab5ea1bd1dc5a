"""A stream that is cut off leaves nothing behind."""

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest

from serving.stopping import until_stopping

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("rounds", range(6))
async def test_a_stream_that_ends_as_its_client_leaves_is_no_error(rounds: int) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    is_near, is_over = asyncio.Event(), asyncio.Event()

    async def items() -> AsyncIterator[int]:
        yield 1
        is_near.set()
        await is_over.wait()

    async def read() -> list[int]:
        return [item async for item in until_stopping({}, items())]

    reading = asyncio.create_task(read())
    await is_near.wait()
    is_over.set()
    # The client leaves at any moment between the end of the items and the end of the stream.
    for _ in range(rounds):
        await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait((reading,))
    assert reading.cancelled() or reading.result() == [1]
    del reading
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []
