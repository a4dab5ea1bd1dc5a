"""One server, one plugin and one scripted model for all; every test has its own owners."""

import logging
import uuid
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.conftest import database_url, execute
from tests.integration.recall.server import MANAGEMENT, Recall, be_patient, example_plugin, recall
from tests.integration.recall.upstream import Model, scripted_model

log = logging.getLogger(__name__)


@pytest.fixture(scope="session")
def _model() -> Iterator[Model]:
    with scripted_model() as running:
        yield running


@pytest.fixture(autouse=True)
def model(_model: Model) -> Model:
    """The scripted model, reset."""
    _model.reset()
    return _model


@pytest.fixture(scope="session")
def recall_database(cluster: str) -> str:
    name = f"recall_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    return database_url(cluster, name)


@pytest.fixture(scope="session")
def plugin_url() -> Iterator[str]:
    with example_plugin() as url:
        yield url


@pytest.fixture(scope="session")
def server(recall_database: str, plugin_url: str, _model: Model) -> Iterator[Recall]:
    """Two workers, so that tests notice state that only one of them has."""
    flags = ["--database-url", recall_database, "--plugin-url", plugin_url, "--workers", "2"]
    with recall(*flags, "--upstream-url", _model.url, "--dev-auth") as running:
        be_patient(running)
        yield running


@pytest.fixture
def owner() -> str:
    return f"owner-{uuid.uuid4().hex[:12]}"


@pytest.fixture
async def api(server: Recall) -> AsyncIterator[httpx.AsyncClient]:
    """REST with the management token."""
    async with httpx.AsyncClient(base_url=server.url, headers=MANAGEMENT, timeout=60) as client:
        yield client


@pytest.fixture
async def chat(server: Recall, owner: str) -> AsyncIterator[httpx.AsyncClient]:
    """A chat client of one owner."""
    headers = {"authorization": f"Bearer {owner}"}
    async with httpx.AsyncClient(
        base_url=server.url,
        headers=headers,
        timeout=60,
        event_hooks={"response": [_show_memory_error]},
    ) as client:
        yield client


async def _show_memory_error(response: httpx.Response) -> None:
    """Say why a request got no memories, for the report of a test that expected some."""
    if (error := response.headers.get("x-memory-error")) is not None:
        log.warning("x-memory-error: %s", error)
