"""Addresses to listen on."""

import socket
import tempfile
from pathlib import Path

import pytest

from plugin_postgres import listener
from plugin_postgres.errors import BadSetting


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "localhost:0"])
def test_loopback_is_private_and_the_real_port_is_told(listen: str) -> None:
    with listener.bound(listen) as bound:
        address = listener.address(bound)
        assert listener.is_private(bound)
        assert address.startswith("http://")
        assert int(address.rpartition(":")[2]) > 0


@pytest.mark.parametrize("listen", [":0", "0.0.0.0:0"])
def test_other_addresses_are_public(listen: str) -> None:
    with listener.bound(listen) as bound:
        assert not listener.is_private(bound)


def test_an_ipv6_address_stands_in_brackets() -> None:
    if not socket.has_dualstack_ipv6():
        with pytest.raises(BadSetting), listener.bound("[::1]:0"):
            pass
        return
    with listener.bound("[::1]:0") as bound:
        assert listener.is_private(bound)
        assert listener.address(bound).startswith("http://[::1]:")


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
                assert listener.address(bound) == f"unix:{path}"
                assert listener.is_private(bound)
                assert path.is_socket()
            assert not path.exists()


def test_a_file_that_is_no_socket_is_never_removed() -> None:
    with tempfile.TemporaryDirectory(prefix="mp-") as made:
        path = Path(made) / "precious.txt"
        path.write_text("data")
        with pytest.raises(BadSetting), listener.bound(f"unix:{path}"):
            pass
        assert path.read_text() == "data"
