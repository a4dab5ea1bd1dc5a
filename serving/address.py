"""The address to listen on: `host:port`, `:port`, `[::1]:port` or `unix:/path`."""

import errno
import ipaddress
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from serving.errors import BadSetting

# How many clients may be connected without being accepted yet.
BACKLOG = 2048
_ELSEWHERE = "or choose another address with --listen"


@dataclass(frozen=True)
class ListeningSockets:
    """Bound sockets that refuse connections until `open`.

    There is one socket, or several if a host name has several addresses, such as localhost.
    """

    sockets: list[socket.socket]
    path: Path | None = None
    file: os.stat_result | None = None

    @property
    def address(self) -> str:
        """The address for clients, with the real port: `http://127.0.0.1:9100` or `unix:/path`."""
        if self.path is not None:
            return f"unix:{self.path}"
        host, port = self.sockets[0].getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def is_private(self) -> bool:
        """Whether only this machine can connect."""
        if self.path is not None:
            return True
        hosts = [one.getsockname()[0].split("%")[0] for one in self.sockets]
        return all(ipaddress.ip_address(host).is_loopback for host in hosts)

    def open(self) -> None:
        """Let clients connect; they wait in the backlog until they are accepted."""
        try:
            for one in self.sockets:
                # Two servers that start at once can both bind the port, until one of them listens.
                one.listen(BACKLOG)
        except OSError as error:
            raise _cannot_listen(self.address, error) from error
        if self.path is not None and not self.has_file:
            raise BadSetting(f"another server has taken {self.address}; stop it, {_ELSEWHERE}")

    @property
    def has_file(self) -> bool:
        """Whether the unix socket file is ours: another server may have replaced it."""
        if self.path is None or self.file is None:
            return False
        try:
            return os.path.samestat(self.file, self.path.stat())
        except OSError:
            return False


@contextmanager
def bound(listen: str) -> Iterator[ListeningSockets]:
    """Bind the address, or raise `BadSetting`; a unix socket file is removed afterwards."""
    if listen.startswith("unix:") and listen != "unix:":
        path = Path(listen.removeprefix("unix:"))
        with _bound_unix(path) as taken:
            listening = ListeningSockets([taken], path, path.stat())
            try:
                yield listening
            finally:
                if listening.has_file:
                    path.unlink(missing_ok=True)
    else:
        with ExitStack() as stack:
            yield ListeningSockets([stack.enter_context(one) for one in _bound_tcp(listen)])


def _bound_tcp(listen: str) -> list[socket.socket]:
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise _no_address(listen)
    host = host.removeprefix("[").removesuffix("]")
    try:
        if not host:
            return [_every_interface(int(port))]
        return _every_address(host, int(port))
    except UnicodeError:  # a name such as a..b
        raise _no_address(listen) from None
    except OSError as error:
        raise _cannot_listen(listen, error) from error


def _every_address(host: str, port: int) -> list[socket.socket]:
    """One socket for each address of a name: clients try them in any order."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    taken: list[socket.socket] = []
    try:
        for family, _, _, _, name in dict.fromkeys(found):
            # If the system chose a port for the first, the others use it too.
            chosen = taken[0].getsockname()[1] if taken else port
            try:
                taken.append(_bound_to(family, (name[0], chosen, *name[2:])))
            except OSError as error:
                # A machine may know the name's IPv6 address without having IPv6.
                if not taken or error.errno != errno.EADDRNOTAVAIL:
                    raise
    except BaseException:
        for one in taken:
            one.close()
        raise
    return taken


def _every_interface(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        # Also where the machine has no IPv6 address: the socket takes IPv4 connections too.
        with suppress(OSError):
            return _bound_to(socket.AF_INET6, ("::", port), both_families=True)
    return _bound_to(socket.AF_INET, ("", port))


def _bound_to(
    family: int, name: tuple[object, ...], *, both_families: bool = False
) -> socket.socket:
    """Like `socket.create_server`, but without listening."""
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A port is free again at once after a server on it has ended.
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not both_families)
        taken.bind(name)
    except BaseException:
        taken.close()
        raise
    return taken


def _bound_unix(path: Path) -> socket.socket:
    taken = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_stale(path)
        taken.bind(str(path))
        path.chmod(0o660)
    except OSError as error:
        taken.close()
        raise _cannot_listen(f"unix:{path}", error) from error
    return taken


def _remove_stale(path: Path) -> None:
    """Remove the socket file of a killed server, but not one on which a server responds."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
        else:
            raise BadSetting(f"another server is listening on unix:{path}; stop it, {_ELSEWHERE}")


def _no_address(listen: str) -> BadSetting:
    return BadSetting(
        f"--listen {listen} is not an address; use host:port, :port or unix:/path,"
        " such as 127.0.0.1:9100"
    )


def _cannot_listen(listen: str, error: OSError) -> BadSetting:
    if error.errno == errno.EADDRINUSE:
        return BadSetting(f"another program is using {listen}; stop it, {_ELSEWHERE}")
    reason = error.strerror or error
    return BadSetting(f"cannot listen on {listen}: {reason}; choose another address with --listen")
