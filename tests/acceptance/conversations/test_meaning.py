"""Search by meaning with a scripted embedder; when it fails or hangs, by words."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.command import running
from tests.acceptance.conversations.conftest import COMMAND
from tests.acceptance.conversations.people import User, fresh
from tests.acceptance.conversations.test_search import SEARCH, wait_until_indexed
from tests.conftest import database_url, execute
from tests.integration.language.scripted import Scripted, scripted
from tests.waiting import until

PETS = ("cat", "kitten", "dog")
MONEY = ("invoice", "tax", "bill")


def directions(body: Any) -> object:
    """Pets in one direction, money in the other."""
    rows = [
        {
            "embedding": [
                float(any(word in text for word in PETS)),
                float(any(word in text for word in MONEY)),
                0.1,
            ]
        }
        for text in body["input"]
    ]
    return {"data": rows}


class Script:
    """An embedder whose answer can be changed while it is used."""

    def __init__(self) -> None:
        self.answer: Callable[[Any], object] = directions
        self.over = threading.Event()

    def __call__(self, body: Any) -> object:
        return self.answer(body)

    def hang(self, _: Any) -> object:
        self.over.wait(120)
        return 500, b"{}"


@contextmanager
def served(cluster: str, folder: Path, embedder: Scripted) -> Iterator[tuple[str, str]]:
    name = f"meaning_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    url = database_url(cluster, name)
    try:
        with running(
            "--dev-auth",
            "--listen=127.0.0.1:0",
            f"--database-url={url}",
            f"--data-dir={folder}",
            f"--embed-url={embedder.url}",
            "--embed-model=some-model",
            environment={"MEMORY_CONVERSATIONS_EMBED_API_KEY": "embed-key"},
            command=COMMAND,
        ) as server:
            yield server.address, url
    finally:
        execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="module")
def script() -> Iterator[Script]:
    made = Script()
    yield made
    made.over.set()


@pytest.fixture(scope="module")
def place(
    cluster: str, script: Script, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str, Scripted]]:
    folder = tmp_path_factory.mktemp("meaning")
    with scripted(script) as embedder:
        with served(cluster, folder, embedder) as (address, url):
            yield address, url, embedder
        script.over.set()


def by_meaning(user: User, query: str) -> Any:
    """Repeat a search until the embedder was in time: the server does not wait for it for long."""

    def answer() -> Any:
        found = user.post(SEARCH, {"query": query}, 200)
        return found if found["data"] else None

    return until(answer, "the embedder is never in time")


def test_a_query_is_searched_by_meaning_or_by_words_while_the_embedder_fails(
    place: tuple[str, str, Scripted], script: Script
) -> None:
    address, url, embedder = place
    alice, bob = User(address, fresh("alice")), User(address, fresh("bob"))
    alice.start("my kitten sleeps all day", "the tax is due in may")
    bob.start("a dog of somebody else")
    wait_until_indexed(url)
    answer = by_meaning(alice, "cat")
    assert answer["backend"] == "plugin"
    assert answer["data"][0]["message"]["content"] == "my kitten sleeps all day"
    assert "somebody else" not in str(answer)
    assert {key for _, key, _ in embedder.asked} == {"Bearer embed-key"}
    assert {body["model"] for _, _, body in embedder.asked} == {"some-model"}

    script.answer = script.hang
    began = time.monotonic()
    assert alice.finds("kitten") == ["my kitten sleeps all day"]
    # Asked once, then not again for a while: otherwise every further search would wait for it.
    asked = len(embedder.asked)
    for _ in range(20):
        alice.finds("kitten")
    assert len(embedder.asked) <= asked + (time.monotonic() - began) / 10 + 1
    assert alice.finds("cat") == []

    alice.start("bills and invoices")
    wait_until_indexed(url)
    assert alice.finds("invoices") == ["bills and invoices"]
