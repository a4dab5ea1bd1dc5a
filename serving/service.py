"""A service: its parts, and how it is served."""

import logging
import os
import resource
import signal
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from types import FrameType
from typing import Any, Generic, TypeVar

import uvicorn
from starlette.types import ASGIApp

from serving import address, logs, protocol, workers
from serving.child import stop_with_parent
from serving.metrics import MULTIPROCESS_DIR
from serving.settings import ServerSettings, settings_of

# Longer than any common client keeps an idle connection (Go: 90 s): the client must close first, or
# it may send a request on a connection that is just being closed.
_KEEP_ALIVE_SECONDS = 130

S = TypeVar("S", bound=ServerSettings)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Service(Generic[S]):
    """The definition of a server.

    `prepare` runs once, before the workers, and yields their settings: while its context lasts, the
    database is running and migrated. `create_app` runs in every worker. `migrate`, if given,
    becomes a subcommand.
    """

    name: str
    summary: str
    package: str
    settings: type[S]
    prepare: Callable[[S], AbstractContextManager[S]]
    create_app: Callable[[S], ASGIApp]
    migrate: Callable[[S], None] | None = None
    bad_request: protocol.BadRequestBody = protocol.bad_request
    http: type[protocol.Protocol] = protocol.Protocol

    @property
    def log_packages(self) -> tuple[str, ...]:
        """The packages whose log messages belong to this service."""
        return (self.package, "serving", "postgres")

    def configure_logs(self, settings: S) -> None:
        logs.configure(
            level=settings.log_level, as_json=settings.log_json, packages=self.log_packages
        )

    def serve(self, settings: S) -> None:
        """Serve until SIGTERM, SIGINT or SIGHUP; then finish what is in flight and stop."""
        stop_on_signals()
        stop_with_parent()
        _raise_file_limit()
        with ExitStack() as stack:
            # Report an unusable address before a database is created or migrated.
            bound = stack.enter_context(address.bound(settings.listen))
            settings = stack.enter_context(self.prepare(settings))
            bound.open()
            for token in (it for it in settings_of(self.settings) if it.name == "token"):
                if not bound.is_private and getattr(settings, token.name) is None:
                    log.warning(
                        f"anyone who can reach this address can read and write; set {token.env}",
                        extra={"address": bound.address},
                    )
            log.info("listening", extra={"address": bound.address})
            application = partial(self.create_app, settings)
            configuration = self._configuration(settings, application)
            if settings.workers == 1:
                workers.run(configuration, bound.sockets)
            else:
                shared = stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{self.name}-"))
                os.environ[MULTIPROCESS_DIR] = shared
                workers.run_several(configuration, application, settings.workers, bound.sockets)
        # While Python ends, it has no handlers any more: one more Ctrl-C would look like a crash.
        _ignore_signals()
        log.info("stopped")

    def _configuration(self, settings: S, application: Callable[[], ASGIApp]) -> uvicorn.Config:
        configuration = uvicorn.Config(
            application,
            factory=True,
            interface="asgi3",
            lifespan="on",
            http=_http(self.http),
            loop=_loop(),
            ws="none",
            access_log=False,
            log_config=logs.configuration(
                level=settings.log_level, as_json=settings.log_json, packages=self.log_packages
            ),
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=max(1, round(settings.shutdown_timeout)),
        )
        # For the protocol, which uvicorn creates and which gets nothing else.
        configuration.bad_request = self.bad_request  # type: ignore[attr-defined]
        return configuration


def stop_on_signals() -> None:
    """Exit through the context managers during startup; the server handles signals after that."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        _ignore_signals()
        raise SystemExit(0)

    for handled in workers.STOPPING:
        signal.signal(handled, stop)


def _ignore_signals() -> None:
    for ignored in workers.STOPPING:
        signal.signal(ignored, signal.SIG_IGN)


def _http(spoken: type[protocol.Protocol]) -> Any:
    if find_spec("httptools"):
        return spoken
    log.error("httptools is not installed: every request takes several times as long; install it")
    return "h11"


def _loop() -> Any:
    if find_spec("uvloop"):
        return "uvloop"
    log.error("uvloop is not installed: every request takes longer; install it")
    return "asyncio"


def _raise_file_limit() -> None:
    """A connection is an open file, and shells allow 1,024 where the system allows many more."""
    _, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A system without a limit may still refuse to be told so.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, allowed))
