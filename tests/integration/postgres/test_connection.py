"""The one way in which connections are made."""

import socket
import ssl
from typing import Any
from urllib.parse import urlsplit

import pytest

from plugin_postgres.settings import Settings
from postgres import hosts
from postgres.connection import connect
from postgres.errors import DatabaseUnreachable
from postgres.provide import database_for
from postgres.schema import Schema
from tests import timeouts

pytestmark = pytest.mark.anyio


async def test_a_limit_of_the_role_or_the_database_does_not_end_a_migration(database: str) -> None:
    name = urlsplit(database).path.removeprefix("/")
    admin = await connect(Settings(database_url=database, **timeouts.LIMITS), name="admin")
    await admin.execute(f'ALTER DATABASE "{name}" SET statement_timeout = 1000')
    connection = await connect(Settings(database_url=database, **timeouts.LIMITS), name="x")
    assert await connection.fetchval("SHOW statement_timeout") == "0"
    await connection.close()
    await admin.close()


def test_a_certificate_that_cannot_be_verified_is_not_called_a_wrong_url(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(*_: object, **__: object) -> Any:
        raise ssl.SSLCertVerificationError("certificate verify failed: Hostname mismatch")

    monkeypatch.setattr("postgres.provide.connect", refuse)
    settings = Settings(database_url="postgresql://u@db/d", startup_timeout=0)
    schema = Schema("x", "plugin_postgres.migrations")
    with (
        pytest.raises(DatabaseUnreachable, match="SSLCertVerificationError"),
        database_for(settings, schema, command="x"),
    ):
        pass


async def test_a_host_that_answers_nothing_does_not_use_up_the_time_of_the_next(
    database: str,
) -> None:
    name = urlsplit(database).path
    alive = database.split("host=")[1]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        url = f"postgresql://postgres@{name}?host=127.0.0.1,{alive}&port={port},5432"
        settings = Settings(database_url=url, **{**timeouts.LIMITS, "connect_timeout": 10})
        connection = await connect(settings, name="x")
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()


async def test_what_the_last_host_says_is_the_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        url = f"postgresql://postgres@127.0.0.1:{port},127.0.0.1:1/x"
        with pytest.raises(TimeoutError):
            await connect(Settings(database_url=url, connect_timeout=1), name="x")


@pytest.mark.parametrize(
    ("url", "each"),
    [
        ("postgresql://u:p@h/d", ["postgresql://u:p@h/d"]),
        (
            "postgresql://u:p%2C@h,[::1]:1/d?a=b%20c",
            ["postgresql://u:p%2C@h/d?a=b%20c", "postgresql://u:p%2C@[::1]:1/d?a=b%20c"],
        ),
        (
            "postgresql://u@/d?host=/a,/b&port=1,2",
            ["postgresql://u@/d?host=%2Fa&port=1", "postgresql://u@/d?host=%2Fb&port=2"],
        ),
        (
            "postgresql://g,h/d?port=7",
            ["postgresql://g/d?port=7", "postgresql://h/d?port=7"],
        ),
        ("postgresql://g,h/d?port=1,2,3", ["postgresql://g,h/d?port=1,2,3"]),
    ],
)
def test_a_url_is_taken_apart_by_its_hosts(url: str, each: list[str]) -> None:
    assert hosts.one_by_one(url) == each
