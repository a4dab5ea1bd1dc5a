import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import asyncpg
import pytest

from gateway.schema import SCHEMA
from tests.conftest import database_url, execute
from tests.integration.gateway import people
from tests.integration.gateway.people import Gateway, Person
from tests.integration.gateway.plugin import Switchboard, switchboard
from tests.waiting import SECONDS

TEMPLATE = "gateway_template"
# How long the gateway waits for others before it goes on without them.
PATIENCE = (
    "deletion._PATIENCE_SECONDS",
    "extractor.MAX_SECONDS",
    "models._QUERY_SECONDS",
    "models._TEXTS_SECONDS",
    "plugin._HEALTH_SECONDS",
    "plugin._READ_SECONDS",
    "plugin._WRITE_SECONDS",
    "resources._PATIENCE_SECONDS",
)


@pytest.fixture(scope="session", autouse=True)
def _patience_with_others() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in PATIENCE:
            patch.setattr(f"gateway.{name}", SECONDS)
        yield


@pytest.fixture(scope="session")
def gateway_template(cluster: str) -> str:
    execute(cluster, f'CREATE DATABASE "{TEMPLATE}"')

    async def run() -> None:
        connection = await asyncpg.connect(database_url(cluster, TEMPLATE))
        try:
            await SCHEMA.migrate(connection)
        finally:
            await connection.close()

    asyncio.run(run())
    return TEMPLATE


@contextmanager
def new_store(cluster: str, template: str) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY')
    try:
        yield database_url(cluster, name)
    finally:
        execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="module")
def store(cluster: str, gateway_template: str) -> Iterator[str]:
    """The URL of a database with the gateway's schema; the tests of a module share it."""
    with new_store(cluster, gateway_template) as url:
        yield url


@pytest.fixture
def quiet_store(cluster: str, gateway_template: str) -> Iterator[str]:
    """The same for one test, without a gateway whose background tasks change it."""
    with new_store(cluster, gateway_template) as url:
        yield url


@pytest.fixture(scope="module")
def shared_plugin() -> Switchboard:
    return switchboard()


@pytest.fixture
def plugin(shared_plugin: Switchboard) -> Iterator[Switchboard]:
    """A plugin with all features, which works until a test makes it fail."""
    yield shared_plugin
    shared_plugin.reset()


@pytest.fixture(scope="module")
async def gateway(store: str, shared_plugin: Switchboard) -> AsyncIterator[Gateway]:
    """The tests of a module share it, each with users of its own."""
    async with people.gateway(store, shared_plugin.client()) as running:
        yield running


@pytest.fixture
async def ann(gateway: Gateway) -> Person:
    return await gateway.person()


@pytest.fixture
async def bob(gateway: Gateway) -> Person:
    return await gateway.person()
