"""Addresses to listen on."""

import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from plugin_postgres import listener
from plugin_postgres.errors import BadSetting


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "localhost:0"])
def test_loopback_is_private_and_the_real_port_is_told(listen: str) -> None:
    with listener.bound(listen) as bound:
        address = bound.address
        assert bound.is_private
        assert address.startswith("http://")
        assert int(address.rpartition(":")[2]) > 0


@pytest.mark.parametrize("listen", [":0", "0.0.0.0:0"])
def test_other_addresses_are_public(listen: str) -> None:
    with listener.bound(listen) as bound:
        assert not bound.is_private


def test_an_ipv6_address_stands_in_brackets() -> None:
    if not socket.has_dualstack_ipv6():
        with pytest.raises(BadSetting), listener.bound("[::1]:0"):
            pass
        return
    with listener.bound("[::1]:0") as bound:
        assert bound.is_private
        assert bound.address.startswith("http://[::1]:")


@pytest.mark.parametrize(
    "listen", ["", "localhost", "127.0.0.1", ":", ":x", ":-1", "127.0.0.1:65536", "unix:/no/dir/x"]
)
def test_what_is_no_address_is_refused(listen: str) -> None:
    with pytest.raises(BadSetting), listener.bound(listen):
        pass


def test_the_file_of_a_unix_socket_comes_and_goes() -> None:
    with tempfile.TemporaryDirectory(prefix="mp-") as made:
        path = Path(made) / "plugin.sock"
        for _ in range(2):
            with listener.bound(f"unix:{path}") as bound:
                assert bound.address == f"unix:{path}"
                assert bound.is_private
                assert path.is_socket()
            assert not path.exists()


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mp-") as made:
        yield Path(made) / "plugin.sock"


def test_a_port_refuses_clients_until_it_is_opened() -> None:
    with listener.bound("127.0.0.1:0") as bound:
        name = bound.socket.getsockname()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(name)
        bound.open()
        socket.create_connection(name).close()


def test_a_unix_socket_refuses_clients_until_it_is_opened(path: Path) -> None:
    with listener.bound(f"unix:{path}") as bound, socket.socket(socket.AF_UNIX) as client:
        with pytest.raises(ConnectionRefusedError):
            client.connect(str(path))
        bound.open()
        client.connect(str(path))


def test_of_two_servers_that_start_on_one_port_the_second_to_listen_is_told() -> None:
    with listener.bound("127.0.0.1:0") as first:
        taken = first.address.removeprefix("http://")
        with listener.bound(taken) as second:
            first.open()
            with pytest.raises(BadSetting, match="--listen"):
                second.open()
        with pytest.raises(BadSetting, match=f"another program has {taken}.*--listen"):
            listener.bound(taken).__enter__()


def test_of_two_servers_that_start_on_one_unix_socket_the_first_is_told(path: Path) -> None:
    with listener.bound(f"unix:{path}") as first:
        with listener.bound(f"unix:{path}") as last:
            last.open()
            with pytest.raises(BadSetting, match="--listen"):
                first.open()
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
        assert not path.exists()


def test_the_file_of_another_server_is_left_alone(path: Path) -> None:
    with ExitStack() as stack:
        with listener.bound(f"unix:{path}"):
            stack.enter_context(listener.bound(f"unix:{path}"))
        assert path.is_socket()


def test_a_file_that_is_no_socket_is_never_removed() -> None:
    with tempfile.TemporaryDirectory(prefix="mp-") as made:
        path = Path(made) / "precious.txt"
        path.write_text("data")
        with pytest.raises(BadSetting), listener.bound(f"unix:{path}"):
            pass
        assert path.read_text() == "data"
