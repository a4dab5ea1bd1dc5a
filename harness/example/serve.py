"""Serve the example until it is stopped."""

import socket
import sys
from collections.abc import Collection
from pathlib import Path

import uvicorn

from contract import CAPABILITIES, EXTENSIONS
from harness.errors import ConfigurationError
from harness.example.app import create_app


def serve(listen: str, without: Collection[str]) -> None:
    """Listen on `host:port`, `:port` or `unix:/path`; port 0 takes a free one.

    The first line on stderr names the address that clients use.
    """
    unknown = set(without) - {*CAPABILITIES, *EXTENSIONS}
    if unknown:
        raise ConfigurationError(
            f"--without {min(unknown)}: choose from {', '.join((*CAPABILITIES, *EXTENSIONS))}"
        )
    app = create_app(
        [name for name in CAPABILITIES if name not in without],
        [name for name in EXTENSIONS if name not in without],
    )
    listener, address = bind(listen)
    sys.stderr.write(f"listening on {address}\n")
    sys.stderr.flush()
    server = uvicorn.Server(
        uvicorn.Config(app, access_log=False, log_level="warning", lifespan="off")
    )
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass  # Ctrl-C is the normal way to stop it
    finally:
        listener.close()
        if address.startswith("unix:"):
            Path(address.removeprefix("unix:")).unlink(missing_ok=True)


def bind(listen: str) -> tuple[socket.socket, str]:
    """A bound socket, and the address that reaches it."""
    try:
        if listen.startswith("unix:"):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(listen.removeprefix("unix:"))
            listener.listen()
            return listener, listen
        host, _, port = listen.rpartition(":")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host.strip("[]"), int(port)), family=family)
        name = host or "127.0.0.1"
        return listener, f"http://{name}:{listener.getsockname()[1]}"
    except (OSError, ValueError, OverflowError) as error:
        raise ConfigurationError(
            f"cannot listen on {listen} ({error}); use host:port, :port or unix:/path"
        ) from None
