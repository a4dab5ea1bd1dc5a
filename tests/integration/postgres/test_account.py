"""Started by root, the server runs as an account that no other service has."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from postgres import account
from postgres.account import Account, account_for
from postgres.server import Server
from tests.integration.postgres.server import FAST, ask, postmaster
from tests.waiting import until

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can run the server as somebody else"
)


@pytest.fixture
def _no_postgres_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "_OWN", "no-such-account")


@contextmanager
def served(data_dir: Path) -> Iterator[Server]:
    server = Server(data_dir, FAST)
    server.prepare()
    server.start()
    try:
        until(server.is_ready, "it does not start")
        yield server
    finally:
        server.stop()


def owners(folder: Path) -> set[int]:
    return {path.lstat().st_uid for path in (folder, *folder.rglob("*"))}


@pytest.mark.usefixtures("_no_postgres_account")
def test_without_an_account_for_it_the_server_runs_as_an_unused_user_id(
    empty_dir: Path,
) -> None:
    empty_dir.mkdir()
    with served(empty_dir) as server:
        found = psutil.Process(postmaster(empty_dir)).uids().effective
        with pytest.raises(KeyError):
            pwd.getpwuid(found)
        assert owners(server.cluster) == {found}
        ask(server.url, "CREATE TABLE kept AS SELECT 42 AS answer")
    with served(empty_dir) as server:
        assert psutil.Process(postmaster(empty_dir)).uids().effective == found
        assert ask(server.url, "SELECT answer FROM kept") == 42


@pytest.mark.usefixtures("_no_postgres_account")
def test_data_of_the_account_nobody_gets_another_owner(data_dir: Path) -> None:
    entry = pwd.getpwnam("nobody")
    Account(entry.pw_uid, entry.pw_gid).own_all(data_dir)
    with served(data_dir) as server:
        assert psutil.Process(postmaster(data_dir)).uids().effective != entry.pw_uid
        assert entry.pw_uid not in owners(server.cluster)
        assert ask(server.url, "SELECT 42") == 42


def test_data_of_any_other_account_stays_with_it(data_dir: Path) -> None:
    Account(60700, 60701).own_all(data_dir / "postgres")
    assert account_for(data_dir) == Account(60700, 60701)
    with served(data_dir) as server:
        assert psutil.Process(postmaster(data_dir)).uids().effective == 60700
        assert owners(server.cluster) == {60700}
