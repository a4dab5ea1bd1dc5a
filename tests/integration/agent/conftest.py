"""A scripted server over real sockets for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.integration.contract.stub import Stub, serving


@pytest.fixture
async def server() -> AsyncIterator[Stub]:
    async with serving() as stub:
        yield stub
