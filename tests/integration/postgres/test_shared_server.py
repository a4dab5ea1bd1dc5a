"""One embedded server for all who use a directory: the first starts it, the last stops it."""

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from postgres import embedded
from postgres.account import account_for
from postgres.embedded import embedded_postgres
from postgres.errors import EmbeddedFailed
from postgres.server import Server
from tests.integration.postgres.server import (
    FAST,
    another,
    answers,
    ask,
    keeper,
    nothing_runs,
    postmaster,
    processes_in,
    started,
)
from tests.waiting import SECONDS, until


def test_all_users_of_a_directory_share_one_server_that_the_last_one_stops(data_dir: Path) -> None:
    with another(data_dir) as first, embedded_postgres(data_dir, FAST) as url:
        ask(url, "CREATE TABLE kept AS SELECT 42 AS answer")
        pid = postmaster(data_dir)
        with embedded_postgres(data_dir, FAST) as same:
            assert same == url
        first.terminate()
        first.wait(SECONDS)
        assert ask(url, "SELECT answer FROM kept") == 42
        assert postmaster(data_dir) == pid
    nothing_runs(data_dir)


def test_commands_that_start_together_share_one_server(data_dir: Path) -> None:
    crowd = [started(data_dir) for _ in range(4)]
    try:
        urls = set()
        for process in crowd:
            assert process.stdout is not None
            urls.add(process.stdout.readline())
        assert len(urls) == 1
        assert len({postmaster(data_dir)}) == 1
    finally:
        for process in crowd:
            process.terminate()
        for process in crowd:
            process.wait(SECONDS)
            if process.stdout is not None:
                process.stdout.close()
    nothing_runs(data_dir)


def test_a_command_that_starts_while_the_server_stops_gets_one(data_dir: Path) -> None:
    for _ in range(5):
        with another(data_dir) as last:
            last.terminate()
            with embedded_postgres(data_dir, FAST) as url:
                assert ask(url, "SELECT 1") == 1


def test_a_killed_user_does_not_affect_the_others(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST) as url, another(data_dir) as killed:
        pid = postmaster(data_dir)
        killed.kill()
        killed.wait(SECONDS)
        assert ask(url, "SELECT 1") == 1
        assert postmaster(data_dir) == pid


def test_nothing_keeps_running_when_all_users_are_killed(data_dir: Path) -> None:
    with another(data_dir) as one, another(data_dir) as two:
        for killed in (one, two):
            killed.kill()
            killed.wait(SECONDS)
        nothing_runs(data_dir)
    with embedded_postgres(data_dir, FAST) as url:
        assert ask(url, "SELECT 1") == 1


def test_a_keeper_that_is_killed_is_replaced(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST) as url, another(data_dir):
        ask(url, "CREATE TABLE kept AS SELECT 42 AS answer")
        killed = keeper(data_dir)
        os.kill(killed, signal.SIGKILL)
        until(lambda: keeper(data_dir) != killed, "there is no other keeper")
        answers(url)
    nothing_runs(data_dir)


def test_a_server_whose_keeper_and_users_are_killed_stops(data_dir: Path) -> None:
    with another(data_dir) as user:
        for pid in (keeper(data_dir), user.pid):
            os.kill(pid, signal.SIGKILL)
        user.wait(SECONDS)
        nothing_runs(data_dir)


def test_everything_killed_at_once_loses_nothing(data_dir: Path) -> None:
    with another(data_dir) as user:
        with embedded_postgres(data_dir) as url:
            ask(url, "CREATE TABLE kept AS SELECT 42 AS answer")
        for pid in (user.pid, *processes_in(data_dir)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        user.wait(SECONDS)
    with embedded_postgres(data_dir, FAST) as url:
        assert ask(url, "SELECT answer FROM kept") == 42


def test_a_server_that_an_earlier_release_left_running_is_replaced(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST):
        pass
    left = Server(data_dir, FAST, account_for(data_dir))
    left.start()
    until(left.is_ready, "it does not start")
    pid = postmaster(data_dir)
    with embedded_postgres(data_dir, FAST) as url:
        assert ask(url, "SELECT 1") == 1
        assert postmaster(data_dir) != pid
    assert not left.is_alive()


def test_a_server_that_does_not_start_again_is_not_said_to_run(
    empty_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "postgres.embedded")
    monkeypatch.setattr(embedded, "_WATCH_SECONDS", 0.01)
    attempts = threading.Semaphore(0)

    def fails(_: embedded._Shared) -> None:
        attempts.release()
        raise EmbeddedFailed("no space left on device")

    monkeypatch.setattr(embedded._Shared, "ensure", fails)
    empty_dir.mkdir()
    with embedded._Shared(empty_dir, {}).watched():
        for _ in range(3):
            assert attempts.acquire(timeout=SECONDS)
    assert "did not start" in caplog.text
    assert "running again" not in caplog.text
