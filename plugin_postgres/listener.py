"""The address to listen on: `host:port`, `:port`, `[::1]:port` or `unix:/path`."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from plugin_postgres.errors import BadSetting

_BACKLOG = 2048


@contextmanager
def bound(listen: str) -> Iterator[socket.socket]:
    """A listening socket; the file of a unix socket is removed afterwards."""
    if listen.startswith("unix:"):
        path = Path(listen.removeprefix("unix:"))
        with _bound_unix(path) as listener:
            try:
                yield listener
            finally:
                path.unlink(missing_ok=True)
    else:
        with _bound_tcp(listen) as listener:
            yield listener


def address(listener: socket.socket) -> str:
    """Where clients find it, with the real port: `http://127.0.0.1:9100` or `unix:/path`."""
    name = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return f"unix:{name}"
    host, port = name[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_private(listener: socket.socket) -> bool:
    """Whether only this machine can connect."""
    if listener.family == socket.AF_UNIX:
        return True
    return ipaddress.ip_address(listener.getsockname()[0].split("%")[0]).is_loopback


def _bound_tcp(listen: str) -> socket.socket:
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise BadSetting(
            f"--listen {listen} is no address; use host:port, :port or unix:/path,"
            " such as 127.0.0.1:9100"
        )
    host = host.removeprefix("[").removesuffix("]")
    try:
        if not host:
            return _every_interface(int(port))
        family, _, _, _, name = socket.getaddrinfo(
            host, int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(name[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise BadSetting(f"cannot listen on {listen}: {error.strerror}") from error


def _every_interface(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        # Also where the machine has no IPv6 address: the socket takes IPv4 connections too.
        with suppress(OSError):
            return socket.create_server(
                ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=_BACKLOG
            )
    return socket.create_server(("", port), backlog=_BACKLOG)


def _bound_unix(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_stale(path)
        listener.bind(str(path))
        path.chmod(0o660)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise BadSetting(f"cannot listen on unix:{path}: {error.strerror or error}") from error
    return listener


def _remove_stale(path: Path) -> None:
    """A killed server leaves its socket file behind; a file that somebody answers on stays."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
        else:
            raise BadSetting(f"another server is listening on unix:{path}; stop it first")
