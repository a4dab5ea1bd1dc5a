"""The resumer on a real Redis: the rulings of responses hold there, too."""

import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from tests.acceptance.command import Running, running
from tests.acceptance.conversations.conftest import COMMAND, KEYS, make_older
from tests.acceptance.conversations.people import Agent, User

# The same tests, on the server of this module.
from tests.acceptance.conversations.test_responses import (  # noqa: F401
    Follower,
    test_ruling_37_a_response_goes_on_after_an_end_that_was_refused,
    test_ruling_37_a_response_has_a_largest_size,
    test_ruling_37_an_end_can_be_repeated_and_nothing_else,
    test_ruling_37_offsets_count_characters,
    test_ruling_37_one_response_at_a_time_and_one_writer,
    test_ruling_38_events,
    test_ruling_38_resuming_a_stream,
    test_ruling_39_nothing_recorded_after_a_revocation_reaches_the_revoked,
    test_ruling_39_text_reaches_clients_of_every_worker,
    test_ruling_40_cancelling,
    test_ruling_40_which_conversations_have_a_response_in_progress,
    test_ruling_41_however_it_ends_the_text_is_stored,
    test_ruling_41_silence_aborts_and_keeps_the_text,
)
from tests.conftest import database_url, execute
from tests.waiting import until

REDIS = shutil.which("redis-server")
pytestmark = pytest.mark.skipif(REDIS is None, reason="redis-server is not installed")


class Redis:
    """A redis-server on a unix socket."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "redis.sock"
        self.process = subprocess.Popen(
            [str(REDIS), "--port", "0", "--unixsocket", str(self.socket), "--save", ""],
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )
        until(self.socket.exists, "redis-server does not start")

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    server = Redis(tmp_path_factory.mktemp("redis"))
    yield server
    server.close()


@pytest.fixture(scope="module")
def store(cluster: str) -> Iterator[str]:
    name = f"redis_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    yield database_url(cluster, name)
    execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def fall_silent(store: str, redis_server: Redis) -> Callable[[str], None]:
    def fall_silent(recording: str) -> None:
        with redis.Redis.from_url(redis_server.url) as client:
            client.hset(f"memory-conversations:{recording}:state", "at", str(time.time() - 3600))
        make_older(store, recording)

    return fall_silent


@pytest.fixture(scope="module")
def server(
    store: str, redis_server: Redis, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    with running(
        "--dev-auth",
        "--listen=127.0.0.1:0",
        "--workers=2",
        "--plugin-url=http://127.0.0.1:9",
        f"--database-url={store}",
        f"--data-dir={tmp_path_factory.mktemp('data')}",
        environment={
            **KEYS,
            "MEMORY_CONVERSATIONS_RESUMER": "redis",
            "MEMORY_CONVERSATIONS_REDIS_URL": redis_server.url,
            "MEMORY_CONVERSATIONS_RESPONSE_IDLE_SECONDS": "600",
        },
        command=COMMAND,
    ) as server:
        yield server


@pytest.fixture
def user(server: Running) -> Callable[[str], User]:
    return lambda name: User(server.address, f"{name}-{uuid.uuid4().hex}")


@pytest.fixture(autouse=True)
def _empty(redis_server: Redis) -> None:
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()


def texts(server: Redis) -> dict[str, list[str]]:
    """All text that Redis has, by key."""
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        return {key: client.lrange(key, 0, -1) for key in client.keys("*:text")}


def test_health_names_the_resumer(alice: User) -> None:
    assert alice.get("/v1/health")["responseResumer"] == "redis"


def test_text_is_in_redis_until_the_response_ends(
    alice: User, bot: Agent, redis_server: Redis
) -> None:
    talk = alice.start("hello")
    answer = bot.records(talk)
    answer.adds("some text")
    client = redis.Redis.from_url(redis_server.url, decode_responses=True)
    with client:
        key = f"memory-conversations:{answer.id}:text"
        assert client.lrange(key, 0, -1) == ["0:some text"]
        assert client.ttl(key) > 0
    answer.adds(complete=True)
    assert alice.get(f"{talk.user}/response?stream=false")["content"] == "some text"
    assert texts(redis_server) == {}


@pytest.mark.parametrize("scope", ["group", "branch"])
def test_ruling_15_a_deletion_leaves_no_text_in_redis(
    alice: User, bot: Agent, redis_server: Redis, scope: str
) -> None:
    trunk = alice.start("hello")
    hello = alice.get(f"{trunk.user}/messages")["data"][0]["id"]
    fork = alice.fork(trunk, hello, "hello again")
    bot.records(trunk).adds("on the trunk")
    bot.records(fork).adds("on the fork")
    assert len(texts(redis_server)) == 2
    alice.delete(f"{fork.user}?scope={scope}")
    left = [["0:on the trunk"]] if scope == "branch" else []
    assert list(texts(redis_server).values()) == left
    alice.delete(trunk.user, 204 if left else 404)


def test_ruling_41_a_superseded_or_aborted_response_leaves_no_text_in_redis(
    alice: User, bot: Agent, redis_server: Redis, fall_silent: Callable[[str], None]
) -> None:
    talk = alice.start("hello")
    bot.records(talk, store=True).adds("first")
    second = bot.records(talk, store=True)
    second.adds("second")
    assert list(texts(redis_server).values()) == [["0:second"]]
    fall_silent(second.id)
    until(lambda: not texts(redis_server), "it is not aborted")
    assert alice.reads(talk) == ["hello", "first", "second"]


def test_a_response_goes_on_after_an_end_that_was_cut_short(
    alice: User, bot: Agent, redis_server: Redis
) -> None:
    talk = alice.start("hello")
    answer = bot.records(talk)
    answer.adds("one")
    with redis.Redis.from_url(redis_server.url) as client:
        # As a worker leaves it that dies before PostgreSQL has the end.
        client.hset(f"memory-conversations:{answer.id}:state", "closed", "1")
    assert answer.adds()["offset"] == 3
    assert answer.adds("two", offset=3, complete=True)["status"] == "completed"
    assert alice.get(f"{talk.user}/response?stream=false")["content"] == "onetwo"


def test_a_redis_that_does_not_answer_is_503_and_comes_back(
    alice: User, bot: Agent, redis_server: Redis
) -> None:
    talk = alice.start("hello")
    answer = bot.records(talk)
    answer.adds("one")
    os.kill(redis_server.process.pid, signal.SIGSTOP)
    try:
        refused = bot.send("POST", answer.path, json={"content": "two", "offset": 3})
        assert refused.status_code == 503
        assert refused.headers["retry-after"]
        # Everything else works on.
        alice.say(talk, "still here")
    finally:
        os.kill(redis_server.process.pid, signal.SIGCONT)
    again = {"content": "two", "offset": 3}
    until(lambda: bot.send("POST", answer.path, json=again).status_code != 503, "it stays away")
    assert alice.get(f"{talk.user}/response?stream=false")["content"] == "onetwo"
