"""Accepting clients: one at a time, each by the worker that has the fewest.

The event loop's own server accepts everyone who is waiting at once: the worker that wakes first may
get all the clients of a service, and because they stay connected, the others remain idle.
"""

import asyncio
import errno
import logging
import multiprocessing
import socket
from collections.abc import Callable, Collection, MutableSequence
from contextlib import suppress
from dataclasses import dataclass

from serving.address import BACKLOG

_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE_SECONDS = 0.5
# As long as it takes another worker to wake up.
_HESITATION_SECONDS = 0.001

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Share:
    """How many clients each worker has, and which worker this is."""

    counts: MutableSequence[int]
    worker: int

    def note(self, clients: int) -> None:
        """Tell the others how many this worker has."""
        self.counts[self.worker] = clients

    @property
    def is_all(self) -> bool:
        """Whether this is the only worker."""
        return len(self.counts) == 1

    @property
    def is_fair(self) -> bool:
        """Whether this worker may accept one more client."""
        return self.counts[self.worker] <= min(self.counts)


def shares(workers: int) -> list[Share]:
    """One per worker, to pass to its process."""
    counts = multiprocessing.get_context("spawn").RawArray("i", workers)
    return [Share(counts, worker) for worker in range(workers)]


def refuse(bound: socket.socket) -> None:
    """Refuse new connections, in every process; clients that have connected can still be accepted.

    Only unix sockets support this. With a TCP socket it would cut off clients that are waiting.
    """
    if bound.family == socket.AF_UNIX:
        with suppress(OSError):  # not on every system
            bound.shutdown(socket.SHUT_RD)


class Acceptor:
    """Accepts clients on a listening socket and gives each a protocol.

    `connections` are those it has accepted. A worker with more than its share hesitates, so that
    another can be faster.
    """

    def __init__(
        self,
        bound: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        connections: Collection[object],
        share: Share,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = bound
        self._protocol = protocol
        self._connections = connections
        self._share = share
        self._entering: set[asyncio.Task[None]] = set()
        self._closed = False
        bound.setblocking(False)
        share.note(0)
        self._open()

    async def close(self) -> None:
        """Accept clients that have already connected, who would otherwise be cut off. Then stop.

        Clients that another worker has sent away come back here as long as the socket is open, even
        while the last ones are being accepted: it is closed as soon as nobody is waiting.
        """
        self._closed = True
        self._loop.remove_reader(self._socket)
        room = BACKLOG
        while True:
            while room and self._accept():
                room -= 1
            if not self._entering:
                break
            await asyncio.wait(self._entering)
        self._socket.close()

    def _open(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._socket, self._let_in)

    def _pause(self, seconds: float, then: Callable[[], object]) -> None:
        self._loop.remove_reader(self._socket)
        self._loop.call_later(seconds, then)

    def _let_in(self) -> None:
        self._share.note(len(self._connections) + len(self._entering))
        if self._share.is_fair:
            self._accept()
        else:
            self._pause(_HESITATION_SECONDS, self._let_in_if_nobody_did)

    def _let_in_if_nobody_did(self) -> None:
        if not self._closed:
            self._open()
            self._accept()

    def _accept(self) -> bool:
        """Accept one waiting client; False if there is none, or no capacity."""
        try:
            client, _ = self._socket.accept()
        except BlockingIOError:
            return False  # another worker was faster
        except OSError as error:
            if error.errno not in _NO_MORE_FILES:
                return True  # the client is gone
            log.error("cannot accept connections", extra={"reason": errno.errorcode[error.errno]})
            self._pause(_PAUSE_SECONDS, self._open)
            return False
        task = self._loop.create_task(self._serve(client))
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)
        return True

    async def _serve(self, client: socket.socket) -> None:
        client.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(self._protocol, client)
        except OSError:
            client.close()  # the client has gone in the meantime
