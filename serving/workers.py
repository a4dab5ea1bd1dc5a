"""The serving processes: this one alone, or several on the same sockets, until a signal.

The first SIGTERM, SIGINT or SIGHUP (a terminal that closes) stops them gracefully, and another one
changes nothing: requests in flight have as long as `--shutdown-timeout` allows.
"""

import asyncio
import gc
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import resource_tracker
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from serving.acceptor import Acceptor, Share, refuse, shares
from serving.errors import ServerFailed
from serving.stopping import STATE

# A terminal sends its signals to every process in it; with several workers, the parent decides when
# to stop.
_FROM_TERMINAL = (signal.SIGINT, signal.SIGHUP)
# Under nohup, a terminal may close.
STOPPING = tuple(
    order
    for order in (signal.SIGTERM, *_FROM_TERMINAL)
    if order != signal.SIGHUP or signal.getsignal(order) != signal.SIG_IGN
)
_WHY = "the server did not start; the log above says why"

log = logging.getLogger(__name__)


def run(configuration: uvicorn.Config, sockets: list[socket.socket]) -> None:
    """Serve in this process; raises `ServerFailed` if it cannot start."""
    server = _Server(configuration, *shares(1))
    # Before the event loop exists: a signal must not raise while it is being created.
    server.take_signals()
    try:
        server.run(sockets)
    except SystemExit as end:
        if end.code == STARTUP_FAILURE:
            raise ServerFailed(_WHY) from None
        raise


def run_several(
    configuration: uvicorn.Config,
    create_app: Callable[[], ASGIApp],
    workers: int,
    sockets: list[socket.socket],
) -> None:
    """Serve in several processes; one that dies is restarted.

    Raises `ServerFailed` if one cannot start.
    """
    configuration.app = partial(_worker, create_app)
    configuration.workers = workers
    several = _Workers(configuration, sockets=sockets)
    try:
        several.run()
    except BaseException as error:
        several.terminate_all()
        several.join_all()
        if isinstance(error, OSError):
            raise ServerFailed(
                f"cannot start a worker ({error.strerror}); use fewer with --workers"
            ) from None
        raise
    if several.failed:
        raise ServerFailed(_WHY)


class _Server(uvicorn.Server):
    def __init__(self, configuration: uvicorn.Config, share: Share) -> None:
        super().__init__(configuration)
        self.servers = []  # where uvicorn keeps its own kind of acceptors
        self._acceptors: list[Acceptor] = []
        self._share = share
        self._stopping = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        kind: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        protocol = partial(
            kind,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        self.lifespan.state[STATE] = self._stopping
        # What is loaded by now stays. Looking through it for garbage would hold up all requests for
        # 15 to 50 ms every time.
        gc.collect()
        gc.freeze()
        self._acceptors = [
            Acceptor(bound, protocol, self.server_state.connections, self._share)
            for bound in sockets or []
        ]
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping.set()
        if self._share.is_all:
            for bound in sockets or []:
                refuse(bound)
        for acceptor in self._acceptors:
            await acceptor.close()
        await super().shutdown(sockets)

    def take_signals(self) -> None:
        """From now on, only record the signals that stop the process."""

        def stop(_signal: int, _frame: FrameType | None) -> None:
            self.should_exit = True

        for handled in STOPPING:
            signal.signal(handled, stop)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install the final signal handlers.

        With uvicorn's own, a second Ctrl-C cuts off requests in flight, and all signals are raised
        again while the event loop is ending.
        """
        self.take_signals()
        if multiprocessing.parent_process() is not None:
            for ignored in _FROM_TERMINAL:
                signal.signal(ignored, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        yield


class _Process(Process):
    def __init__(
        self, configuration: uvicorn.Config, sockets: list[socket.socket], share: Share
    ) -> None:
        super().__init__(configuration, sockets)
        self._share = share

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = _Server(self.config, self._share)
        return self._server

    def start(self) -> None:
        """Start it with signals blocked: they stay pending until it can shut down cleanly."""
        # It is started with the first process, and would let the signals through to that one.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Workers(Multiprocess):
    failed = False

    def __init__(self, configuration: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(configuration, sockets)
        if signal.SIGHUP not in STOPPING:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def handle_hup(self) -> None:
        """Stop, as a single process does; uvicorn would restart all workers."""
        self.should_exit.set()

    def handle_ttin(self) -> None:
        """The number of workers is a setting."""

    def handle_ttou(self) -> None:
        """The number of workers is a setting."""

    def init_processes(self) -> None:
        self._shares = shares(self.processes_num)
        for share in self._shares:
            self.processes.append(self._started(share))

    def keep_subprocess_alive(self) -> None:
        """Restart a worker that died.

        uvicorn's own also waits for each worker to respond: meanwhile it ignores SIGTERM and the
        other workers, and it kills a worker that starts slowly on a busy machine.
        """
        for number, worker in enumerate(self.processes):
            if worker.process.is_alive() or self.should_exit.is_set():
                continue
            worker.join()
            if worker.exitcode == STARTUP_FAILURE:
                log.error("worker did not start", extra={"worker": worker.pid})
                self.failed = True
                self.should_exit.set()
                return
            try:
                self.processes[number] = self._started(self._shares[number])
            except OSError as error:
                # The machine cannot start another process now; the other workers keep serving.
                log.error("worker exited and cannot be replaced", extra={"reason": error.strerror})
            else:
                log.error("worker exited; restarting", extra={"worker": worker.pid})

    def terminate_all(self) -> None:
        """Close the socket first: connections that nobody will accept must be refused at once."""
        for bound in self.sockets:
            refuse(bound)
            bound.close()
        super().terminate_all()

    def _started(self, share: Share) -> Process:
        process = _Process(self.config, self.sockets, share)
        process.start()
        return process


def _worker(create_app: Callable[[], ASGIApp]) -> ASGIApp:
    """The application in a worker process, which ends with its parent."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=watch, daemon=True).start()
    return create_app()
