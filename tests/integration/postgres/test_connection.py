"""The one way in which connections are made."""

import ssl
from typing import Any
from urllib.parse import urlsplit

import pytest

from plugin_postgres.settings import Settings
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
