"""Accepting clients: each worker gets its share, and no connected client is cut off."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from serving.acceptor import Acceptor, Share, refuse, shares

pytestmark = pytest.mark.anyio


class Greeter(asyncio.Protocol):
    """Says hello, and is kept by its worker until the client goes."""

    def __init__(self, worker: "set[Greeter]") -> None:
        self.worker = worker

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.worker.add(self)
        transport.write(b"hello")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.worker.discard(self)


class Crowded(socket.socket):
    """There is no room for the first clients."""

    refusals = 0

    def accept(self) -> tuple[socket.socket, object]:
        if self.refusals:
            self.refusals -= 1
            raise OSError(errno.EMFILE, "too many open files")
        return super().accept()


@pytest.fixture
def bound() -> Iterator[Crowded]:
    with Crowded() as made:
        made.bind(("127.0.0.1", 0))
        made.listen(100)
        yield made


@asynccontextmanager
async def worker(bound: socket.socket, share: Share) -> AsyncIterator["set[Greeter]"]:
    """The clients that it accepts while the context lasts."""
    clients: set[Greeter] = set()
    # Another process would have the socket under another number, too.
    with bound.dup() as own:
        acceptor = Acceptor(own, lambda: Greeter(clients), clients, share)
        yield clients
        await acceptor.close()


@contextmanager
def connected(bound: socket.socket, count: int) -> Iterator[list[socket.socket]]:
    """They wait in the backlog: nobody accepts them before the event loop continues."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection(bound.getsockname())) for _ in range(count)
        ]


async def greeting(client: socket.socket) -> bytes:
    client.setblocking(False)
    async with asyncio.timeout(60):
        return await asyncio.get_running_loop().sock_recv(client, 100)


async def test_clients_that_connect_at_once_are_shared_between_workers(bound: Crowded) -> None:
    one, two = shares(2)
    async with worker(bound, one) as first, worker(bound, two) as second:
        with connected(bound, 30) as clients:
            assert [await greeting(client) for client in clients] == [b"hello"] * 30
            assert min(len(first), len(second)) >= 10


async def test_the_worker_that_has_the_fewest_gets_the_next(bound: Crowded) -> None:
    one, two = shares(2)
    async with worker(bound, one):
        with connected(bound, 5) as early, ExitStack() as stack:
            for client in early:
                await greeting(client)
            async with worker(bound, two) as idle:
                for _ in range(5):
                    [client] = stack.enter_context(connected(bound, 1))
                    await greeting(client)
                assert len(idle) >= 3


async def test_a_client_that_no_other_worker_accepts_is_still_accepted(bound: Crowded) -> None:
    counts = [0, 0]
    async with worker(bound, Share(counts, 1)) as kept:  # the other one has died
        with connected(bound, 20) as clients:
            for client in clients:
                assert await greeting(client) == b"hello"
            assert len(kept) == 20
            assert counts[1] >= 19


async def test_clients_that_connected_before_the_acceptor_closes_are_accepted(
    bound: Crowded,
) -> None:
    kept: set[Greeter] = set()
    address = bound.getsockname()
    acceptor = Acceptor(bound, lambda: Greeter(kept), kept, *shares(1))
    with connected(bound, 20):
        await acceptor.close()
        assert len(kept) == 20
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)


async def test_clients_that_connect_while_the_last_are_accepted_are_accepted_too(
    bound: Crowded,
) -> None:
    kept: set[Greeter] = set()

    with ExitStack() as stack:

        class Inviting(Greeter):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                super().connection_made(transport)
                if len(kept) < 5:
                    stack.enter_context(connected(bound, 1))

        acceptor = Acceptor(bound, lambda: Inviting(kept), kept, *shares(1))
        with connected(bound, 1):
            await acceptor.close()
            assert len(kept) == 5


async def test_on_a_unix_socket_waiting_clients_are_accepted_and_later_ones_refused(
    tmp_path: Path,
) -> None:
    kept: set[Greeter] = set()
    address = str(tmp_path / "s")
    with (
        socket.socket(socket.AF_UNIX) as bound,
        socket.socket(socket.AF_UNIX) as early,
        socket.socket(socket.AF_UNIX) as late,
    ):
        bound.bind(address)
        bound.listen(100)
        acceptor = Acceptor(bound, lambda: Greeter(kept), kept, *shares(1))
        early.connect(address)
        refuse(bound)
        with pytest.raises(ConnectionRefusedError):
            late.connect(address)
        await acceptor.close()
        assert await greeting(early) == b"hello"


async def test_clients_wait_while_there_are_no_free_file_descriptors(
    bound: Crowded, caplog: pytest.LogCaptureFixture
) -> None:
    bound.refusals = 2
    kept: set[Greeter] = set()
    acceptor = Acceptor(bound, lambda: Greeter(kept), kept, *shares(1))
    with connected(bound, 1) as [client]:
        assert await greeting(client) == b"hello"
    assert [record.message for record in caplog.records] == ["cannot accept connections"] * 2
    await acceptor.close()


async def test_a_worker_that_hesitated_also_waits_for_file_descriptors(
    bound: Crowded, caplog: pytest.LogCaptureFixture
) -> None:
    kept: set[Greeter] = set()
    acceptor = Acceptor(bound, lambda: Greeter(kept), kept, Share([0, 0], 0))
    with connected(bound, 1) as [first]:
        await greeting(first)
        bound.refusals = 2
        with connected(bound, 1) as [second]:
            assert await greeting(second) == b"hello"
    assert [record.message for record in caplog.records] == ["cannot accept connections"] * 2
    await acceptor.close()
