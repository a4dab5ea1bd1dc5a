"""A stub plugin for each test, and a client that ignores the environment."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from contract import MemoryClient
from tests.integration.contract.stub import Stub, serving


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("URL", "TIMEOUT", "TOKEN"):
        monkeypatch.delenv(f"MEMORY_PLUGIN_{name}", raising=False)


@pytest.fixture
def socket_path() -> Iterator[Path]:
    # Short, because the name of a unix socket may have about 100 bytes only.
    with tempfile.TemporaryDirectory(prefix="mp-") as directory:
        yield Path(directory) / "plugin.sock"


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    async with serving() as stub:
        yield stub


@pytest.fixture(params=["tcp", "unix"])
async def either_stub(request: pytest.FixtureRequest, socket_path: Path) -> AsyncIterator[Stub]:
    """The stub over TCP, then over a unix socket."""
    async with serving(socket_path if request.param == "unix" else None) as stub:
        yield stub


@pytest.fixture
async def client(stub: Stub) -> AsyncIterator[MemoryClient]:
    async with MemoryClient(stub.url, timeout=60) as client:
        yield client
