"""Addresses to listen on."""

import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from serving import address
from serving.errors import BadSetting


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "localhost:0"])
def test_loopback_is_private_and_the_real_port_is_reported(listen: str) -> None:
    with address.bound(listen) as bound:
        assert bound.is_private
        assert bound.address.startswith("http://")
        assert int(bound.address.rpartition(":")[2]) > 0


def test_a_name_with_several_addresses_is_bound_to_all_with_one_port() -> None:
    known = {found[4][0] for found in socket.getaddrinfo("localhost", 0)}
    with address.bound("localhost:0") as bound:
        names = [one.getsockname() for one in bound.sockets]
        bound.open()
        for name in names:
            socket.create_connection(name[:2]).close()
    assert len({name[1] for name in names}) == 1
    assert {name[0] for name in names} <= known
    if socket.has_dualstack_ipv6() and "::1" in known:
        assert {name[0] for name in names} == known


@pytest.mark.parametrize("listen", [":0", "0.0.0.0:0"])
def test_other_addresses_are_public(listen: str) -> None:
    with address.bound(listen) as bound:
        assert not bound.is_private


def test_an_ipv6_address_stands_in_brackets() -> None:
    if not socket.has_dualstack_ipv6():
        with pytest.raises(BadSetting), address.bound("[::1]:0"):
            pass
        return
    with address.bound("[::1]:0") as bound:
        assert bound.is_private
        assert bound.address.startswith("http://[::1]:")


@pytest.mark.parametrize(
    "listen",
    ["", "localhost", "127.0.0.1", ":", ":x", ":-1", "127.0.0.1:65536", "a..b:0", "unix:/no/dir/x"],
)
def test_an_invalid_address_is_refused(listen: str) -> None:
    with pytest.raises(BadSetting), address.bound(listen):
        pass


def test_a_unix_socket_without_a_path_is_no_address() -> None:
    with pytest.raises(BadSetting, match="is not an address"), address.bound("unix:"):
        pass


def test_the_file_of_a_unix_socket_comes_and_goes() -> None:
    with tempfile.TemporaryDirectory(prefix="mp-") as made:
        path = Path(made) / "plugin.sock"
        for _ in range(2):
            with address.bound(f"unix:{path}") as bound:
                assert bound.address == f"unix:{path}"
                assert bound.is_private
                assert path.is_socket()
            assert not path.exists()


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mp-") as made:
        yield Path(made) / "plugin.sock"


def test_a_port_refuses_clients_until_it_is_opened() -> None:
    with address.bound("127.0.0.1:0") as bound:
        name = bound.sockets[0].getsockname()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(name)
        bound.open()
        socket.create_connection(name).close()


def test_a_unix_socket_refuses_clients_until_it_is_opened(path: Path) -> None:
    with address.bound(f"unix:{path}") as bound, socket.socket(socket.AF_UNIX) as client:
        with pytest.raises(ConnectionRefusedError):
            client.connect(str(path))
        bound.open()
        client.connect(str(path))


def test_of_two_servers_on_one_port_the_second_to_listen_is_refused() -> None:
    with address.bound("127.0.0.1:0") as first:
        taken = first.address.removeprefix("http://")
        with address.bound(taken) as second:
            first.open()
            with pytest.raises(BadSetting, match="--listen"):
                second.open()
        with pytest.raises(BadSetting, match=f"another program is using {taken}.*--listen"):
            address.bound(taken).__enter__()


def test_of_two_servers_on_one_unix_socket_the_first_is_refused(path: Path) -> None:
    with address.bound(f"unix:{path}") as first:
        with address.bound(f"unix:{path}") as last:
            last.open()
            with pytest.raises(BadSetting, match="--listen"):
                first.open()
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
        assert not path.exists()


def test_the_file_of_another_server_is_left_alone(path: Path) -> None:
    with ExitStack() as stack:
        with address.bound(f"unix:{path}"):
            stack.enter_context(address.bound(f"unix:{path}"))
        assert path.is_socket()


def test_a_file_that_is_not_a_socket_is_never_removed() -> None:
    with tempfile.TemporaryDirectory(prefix="mp-") as made:
        path = Path(made) / "precious.txt"
        path.write_text("data")
        with pytest.raises(BadSetting), address.bound(f"unix:{path}"):
            pass
        assert path.read_text() == "data"
