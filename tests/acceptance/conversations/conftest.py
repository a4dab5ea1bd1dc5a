"""One server with two workers for all tests here; each test has its own users."""

import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.acceptance.command import Running, running
from tests.acceptance.conversations.people import AGENTS, Agent, User, close_clients, fresh
from tests.conftest import database_url, execute

COMMAND = "memory-conversations"
KEYS = {"MEMORY_CONVERSATIONS_AGENT_KEYS": ",".join(f"{n}={k}" for n, k in AGENTS.items())}


@pytest.fixture(scope="session", autouse=True)
def _clients() -> Iterator[None]:
    yield
    close_clients()


@pytest.fixture(scope="session")
def store(cluster: str) -> Iterator[str]:
    """The URL of a database for the shared server."""
    name = f"conversations_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    yield database_url(cluster, name)
    execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def server(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The command with the reference plugin as its child."""
    with running(
        "--dev-auth",
        "--listen=127.0.0.1:0",
        "--workers=2",
        f"--database-url={store}",
        f"--data-dir={tmp_path_factory.mktemp('data')}",
        environment={**KEYS, "MEMORY_CONVERSATIONS_RESPONSE_IDLE_SECONDS": "600"},
        command=COMMAND,
    ) as server:
        yield server


@pytest.fixture
def fall_silent(store: str) -> Callable[[str], None]:
    """Makes a recording look silent for an hour."""
    return lambda recording: make_older(store, recording)


def make_older(store: str, recording: str) -> None:
    execute(
        store,
        "UPDATE memory_conversations.recordings SET updated_at = updated_at - interval '1 hour'"
        f" WHERE id = '{recording}'",
    )


@pytest.fixture
def user(server: Running) -> Callable[[str], User]:
    """Makes users that no other test has."""
    return lambda name: User(server.address, fresh(name))


@pytest.fixture
def alice(user: Callable[[str], User]) -> User:
    return user("alice")


@pytest.fixture
def bob(user: Callable[[str], User]) -> User:
    return user("bob")


@pytest.fixture
def bot(server: Running) -> Agent:
    return Agent(server.address, "bot")


@pytest.fixture
def other(server: Running) -> Agent:
    return Agent(server.address, "other")
