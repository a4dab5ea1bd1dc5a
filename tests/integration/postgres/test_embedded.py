"""The embedded PostgreSQL: data stays, and obstacles are removed or reported."""

import os
import shutil
import signal
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psutil
import pytest

from postgres.account import account_for
from postgres.embedded import embedded_postgres
from postgres.errors import EmbeddedFailed
from postgres.programs import program, runnable_by
from postgres.server import Server
from tests.integration.postgres.server import (
    FAST,
    answers,
    ask,
    postmaster,
    running,
)
from tests.waiting import until


def test_data_is_kept_across_restarts_and_the_server_stops(empty_dir: Path) -> None:
    with embedded_postgres(empty_dir, FAST) as url:
        ask(url, "CREATE TABLE kept AS SELECT 42 AS answer")
        pid = postmaster(empty_dir)
    assert not running(pid)
    with embedded_postgres(empty_dir, FAST) as url:
        assert ask(url, "SELECT answer FROM kept") == 42


def test_text_behaves_the_same_on_every_machine(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST) as url:
        assert ask(url, "SELECT lower('ÄÉТ') || (SELECT datlocale FROM pg_database LIMIT 1)") == (
            "äéтC.UTF-8"
        )


def test_a_server_that_dies_is_started_again(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST) as url:
        ask(url, "CREATE TABLE kept AS SELECT 42 AS answer")
        died = postmaster(data_dir)
        os.kill(died, signal.SIGKILL)
        answers(url)
        assert postmaster(data_dir) != died


def test_a_stale_process_id_of_another_program_does_not_prevent_a_start(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST):
        stale = (data_dir / "postgres" / "postmaster.pid").read_text()
    lines = stale.splitlines()
    lines[0] = str(os.getppid())
    (data_dir / "postgres" / "postmaster.pid").write_text("\n".join(lines))
    with embedded_postgres(data_dir, FAST) as url:
        assert ask(url, "SELECT 1") == 1


def test_an_interrupted_first_start_can_be_repeated(empty_dir: Path) -> None:
    (empty_dir / "postgres.new").mkdir(parents=True)
    (empty_dir / "postgres.new" / "PG_VERSION").write_text("18\n")
    with embedded_postgres(empty_dir, FAST) as url:
        assert ask(url, "SELECT 1") == 1


def test_a_path_too_long_for_a_unix_socket_works(empty_dir: Path) -> None:
    with embedded_postgres(empty_dir / ("long," * 25), FAST) as url:
        assert ask(url, "SELECT 1") == 1
        name = Path(unquote(urlsplit(url).query.removeprefix("host=")))
        assert name.is_symlink()
    assert not name.is_symlink()


def test_data_of_another_version_is_refused_with_what_to_do(empty_dir: Path) -> None:
    (empty_dir / "postgres").mkdir(parents=True)
    (empty_dir / "postgres" / "PG_VERSION").write_text("9\n")
    refused = pytest.raises(EmbeddedFailed, match=r"PostgreSQL 9, .* install the version that made")
    with refused, embedded_postgres(empty_dir, FAST):
        pass


def test_a_directory_that_cannot_be_made_is_refused_with_what_to_do() -> None:
    refused = pytest.raises(EmbeddedFailed, match="--data-dir")
    with refused, embedded_postgres(Path("/proc/none")):
        pass


def test_the_server_never_runs_as_root_also_when_we_do(data_dir: Path) -> None:
    with embedded_postgres(data_dir, FAST):
        assert psutil.Process(postmaster(data_dir)).uids().effective != 0


def modes(path: Path) -> list[int]:
    return [it.stat().st_mode for it in (path, *path.parents)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run the server as somebody else")
def test_a_closed_directory_stays_closed(empty_dir: Path) -> None:
    closed = empty_dir / "of" / "root"
    closed.mkdir(parents=True, mode=0o700)
    empty_dir.chmod(0o700)
    before = modes(closed)
    with embedded_postgres(closed / "data", FAST) as url:
        ask(url, "CREATE TABLE kept AS SELECT 42 AS answer")
        assert psutil.Process(postmaster(closed / "data")).uids().effective != 0
        assert modes(closed) == before
        assert closed.stat().st_uid == 0
    with embedded_postgres(closed / "data", FAST) as url:
        answers(url)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run the server as somebody else")
def test_programs_in_a_closed_directory_are_copied(empty_dir: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    installed = program("postgres").parents[1]
    libraries = installed.parent.with_name(f"{installed.parent.name}.libs")
    shutil.copytree(libraries, closed / libraries.name)
    shutil.copytree(installed, closed / installed.parent.name / "pginstall", symlinks=True)
    account = account_for(tmp_path)
    shared = empty_dir.parent / "shared"
    empty_dir.parent.chmod(0o755)
    copied = runnable_by(account, closed / installed.parent.name / "pginstall" / "bin", shared)
    assert copied.is_relative_to(shared)
    assert (
        runnable_by(account, closed / installed.parent.name / "pginstall" / "bin", shared) == copied
    )
    assert closed.stat().st_mode & 0o777 == 0o700
    server = Server(empty_dir, FAST, programs=copied)
    empty_dir.mkdir()
    server.prepare()
    server.start()
    until(server.is_ready, "it does not start")
    server.stop()


def test_the_programs_of_the_wheel_can_be_found() -> None:
    assert program("pgbench").exists()
    with pytest.raises(EmbeddedFailed, match="no_such"):
        program("no_such")
