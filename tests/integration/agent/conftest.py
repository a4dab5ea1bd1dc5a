"""A scripted server over real sockets for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.agent.command import Command
from tests.integration.contract.stub import Stub, serving


@pytest.fixture
async def server() -> AsyncIterator[Stub]:
    async with serving() as stub:
        yield stub


@pytest.fixture
def command(tmp_path: Path, server: Stub) -> Command:
    return Command(tmp_path, server)
