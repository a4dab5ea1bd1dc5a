"""Address, timeout and token, from arguments or the environment."""

import pytest

from contract import MemoryClient
from contract.address import Address
from contract.duration import parse_duration


@pytest.mark.parametrize(
    ("text", "url", "socket"),
    [
        ("http://localhost:9100", "http://localhost:9100", None),
        ("http://localhost:9100/", "http://localhost:9100", None),
        ("https://memory.internal/prefix/", "https://memory.internal/prefix", None),
        ("http://[::1]:9100", "http://[::1]:9100", None),
        ("unix:/run/plugin.sock", "http://localhost", "/run/plugin.sock"),
        ("unix:///run/plugin.sock", "http://localhost", "/run/plugin.sock"),
    ],
)
def test_an_address_is_read(text: str, url: str, socket: str | None) -> None:
    assert Address.parse(text) == Address(url, socket)


@pytest.mark.parametrize(
    "text",
    [
        "localhost:9100",
        "ftp://localhost",
        "http://",
        "unix:plugin.sock",
        "unix:",
        "http://localhost:9100/?a=b",
        "http://localhost:99999",
        "http://localhost:port",
        "http://user:password@localhost",
    ],
)
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="the plugin's"):
        Address.parse(text)


def test_the_address_comes_from_the_argument_then_the_environment_then_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMORY_PLUGIN_URL", "http://env:1")
    assert str(Address.find("unix:/x")) == "unix:/x"
    assert str(Address.find(None)) == "http://env:1"
    monkeypatch.setenv("MEMORY_PLUGIN_URL", "")
    assert str(Address.find(None)) == "http://localhost:9100"
    monkeypatch.delenv("MEMORY_PLUGIN_URL")
    assert repr(MemoryClient()) == "MemoryClient('http://localhost:9100')"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2s", 2),
        ("500ms", 0.5),
        ("2", 2),
        ("0.25", 0.25),
        ("1m", 60),
        (" 3 s ", 3),
        (2, 2),
        (0.5, 0.5),
    ],
)
def test_a_duration_is_read(value: float | str, seconds: float) -> None:
    assert parse_duration(value) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "value", ["", "s", "2h", "-1s", "0", "0ms", "1e3", "two", 0, -1, float("nan")]
)
def test_an_invalid_duration_is_refused(value: float | str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(value)


def test_the_timeout_comes_from_the_argument_then_the_environment_then_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMORY_PLUGIN_TIMEOUT", "500ms")
    assert MemoryClient()._timeout == 0.5
    assert MemoryClient(timeout="3s")._timeout == 3
    monkeypatch.delenv("MEMORY_PLUGIN_TIMEOUT")
    assert MemoryClient()._timeout == 2


def test_an_invalid_timeout_names_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_PLUGIN_TIMEOUT", "soon")
    with pytest.raises(ValueError, match="MEMORY_PLUGIN_TIMEOUT: must be a duration"):
        MemoryClient()
    with pytest.raises(ValueError, match="timeout: must be a duration"):
        MemoryClient(timeout=-1)


def test_the_token_comes_from_the_argument_or_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMORY_PLUGIN_TOKEN", "from-env")
    assert MemoryClient()._wire.headers["Authorization"] == "Bearer from-env"
    assert MemoryClient(token="given")._wire.headers["Authorization"] == "Bearer given"


def test_a_client_needs_an_attempt() -> None:
    with pytest.raises(ValueError, match="attempts"):
        MemoryClient(attempts=0)
