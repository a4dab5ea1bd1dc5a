"""Serving: the database, the socket, the worker processes, and how they end."""

import asyncio
import logging
import multiprocessing
import os
import resource
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from plugin_postgres import listener, logs, startup
from plugin_postgres.app import create_app
from plugin_postgres.embedded import embedded_postgres
from plugin_postgres.metrics import MULTIPROCESS_DIR
from plugin_postgres.settings import Settings

_KEEP_ALIVE_SECONDS = 30

log = logging.getLogger(__name__)


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; then finish what is in flight and stop."""
    _stop_on_signals()
    _raise_file_limit()
    with ExitStack() as stack:
        stack.callback(log.info, "stopped")
        settings = stack.enter_context(database(settings))
        asyncio.run(startup.prepare(settings))
        bound = stack.enter_context(listener.bound(settings.listen))
        if not listener.is_private(bound) and settings.token is None:
            log.warning(
                "anybody who reaches this address can read and write: set MEMORY_PLUGIN_TOKEN",
                extra={"address": listener.address(bound)},
            )
        log.info("listening", extra={"address": listener.address(bound)})
        if settings.workers == 1:
            uvicorn.Server(_configuration(settings)).run([bound])
        else:
            shared = stack.enter_context(tempfile.TemporaryDirectory(prefix="memory-plugin-"))
            os.environ[MULTIPROCESS_DIR] = shared
            _run_workers(settings, bound)


@contextmanager
def database(settings: Settings) -> Iterator[Settings]:
    """The settings with a database URL: the given one, or that of an embedded PostgreSQL."""
    if settings.database_url:
        yield settings
        return
    with embedded_postgres(settings.data_dir) as url:
        log.info("embedded PostgreSQL runs", extra={"data_dir": str(settings.data_dir)})
        try:
            yield replace(settings, database_url=url)
        finally:
            log.info("embedded PostgreSQL stops")


def _run_workers(settings: Settings, bound: socket.socket) -> None:
    """Several processes on one socket; one that dies is started again."""
    configuration = _configuration(settings)
    configuration.app = partial(_worker, settings)
    configuration.workers = settings.workers
    _Workers(configuration, sockets=[bound]).run()


class _Workers(Multiprocess):
    def keep_subprocess_alive(self) -> None:
        """Start a worker anew when it died.

        uvicorn's own also waits for a sign of life of each: deaf to SIGTERM and blind to the other
        workers meanwhile, and it kills a worker that a busy machine lets start slowly.
        """
        for number, worker in enumerate(self.processes):
            if worker.process.is_alive() or self.should_exit.is_set():
                continue
            worker.join()
            if worker.exitcode == STARTUP_FAILURE:
                log.error("worker does not start", extra={"worker": worker.pid})
                self.should_exit.set()
                return
            log.error("worker died and was replaced", extra={"worker": worker.pid})
            self.processes[number] = Process(self.config, self.sockets)
            self.processes[number].start()

    def terminate_all(self) -> None:
        """Let go of the socket first: what nobody will accept must be refused, not kept waiting."""
        for bound in self.sockets:
            bound.close()
        super().terminate_all()


def _worker(settings: Settings) -> Starlette:
    """The application in a worker process, which does not outlive the one that started it."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=watch, daemon=True).start()
    return create_app(settings)


def _configuration(settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        partial(create_app, settings),
        factory=True,
        interface="asgi3",
        lifespan="on",
        http=_http(),
        loop=_loop(),
        ws="none",
        access_log=False,
        log_config=logs.configuration(level=settings.log_level, as_json=settings.log_json),
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(settings.shutdown_timeout)),
    )


def _http() -> Any:
    if find_spec("httptools"):
        from plugin_postgres.protocol import EnvelopeProtocol

        return EnvelopeProtocol
    log.error("httptools is not installed: every request takes several times as long")
    return "h11"


def _loop() -> Any:
    if find_spec("uvloop"):
        return "uvloop"
    log.error("uvloop is not installed: every request takes longer")
    return "asyncio"


def _raise_file_limit() -> None:
    """A connection is an open file, and shells allow 1,024 where the system allows many more."""
    _, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A system without a limit may still refuse to be told so.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, allowed))


def _stop_on_signals() -> None:
    """Leave through the context managers, also while starting; uvicorn takes over meanwhile."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        for ignored in (signal.SIGTERM, signal.SIGINT):
            signal.signal(ignored, signal.SIG_IGN)
        raise SystemExit(0)

    for handled in (signal.SIGTERM, signal.SIGINT):
        signal.signal(handled, stop)
