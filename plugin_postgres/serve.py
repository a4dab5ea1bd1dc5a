"""Serving: the database, the socket, and the processes on it."""

import asyncio
import logging
import os
import resource
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from types import FrameType
from typing import Any

import uvicorn

from plugin_postgres import listener, logs, startup, workers
from plugin_postgres.app import create_app
from plugin_postgres.embedded import embedded_postgres
from plugin_postgres.metrics import MULTIPROCESS_DIR
from plugin_postgres.settings import Settings

_KEEP_ALIVE_SECONDS = 30

log = logging.getLogger(__name__)


def serve(settings: Settings) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; then finish what is in flight and stop."""
    _stop_on_signals()
    _raise_file_limit()
    with ExitStack() as stack:
        # An address that cannot be had is told before a database is made or migrated.
        bound = stack.enter_context(listener.bound(settings.listen))
        settings = stack.enter_context(database(settings))
        asyncio.run(startup.prepare(settings))
        bound.open()
        if not bound.is_private and settings.token is None:
            log.warning(
                "anybody who reaches this address can read and write: set MEMORY_PLUGIN_TOKEN",
                extra={"address": bound.address},
            )
        log.info("listening", extra={"address": bound.address})
        configuration = _configuration(settings)
        if settings.workers == 1:
            workers.run(configuration, bound.socket)
        else:
            shared = stack.enter_context(tempfile.TemporaryDirectory(prefix="memory-plugin-"))
            os.environ[MULTIPROCESS_DIR] = shared
            application = partial(create_app, settings)
            workers.run_several(configuration, application, settings.workers, bound.socket)
    log.info("stopped")


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
    """Leave through the context managers while starting; the server takes over from there."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        for ignored in workers.STOPPING:
            signal.signal(ignored, signal.SIG_IGN)
        raise SystemExit(0)

    for handled in workers.STOPPING:
        signal.signal(handled, stop)
