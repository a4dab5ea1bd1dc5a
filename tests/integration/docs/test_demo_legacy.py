"""`python -m demo.legacy`: the small installation that the cutover page is followed on."""

import asyncio
import subprocess
import sys
import uuid
from collections.abc import Iterator

import asyncpg
import pytest

from tests.conftest import database_url, execute
from tests.unit.docs.pages import ROOT


@pytest.fixture
def empty(cluster: str) -> Iterator[str]:
    name = f"demo_{uuid.uuid4().hex}"
    execute(cluster, f'CREATE DATABASE "{name}"')
    yield database_url(cluster, name)
    execute(cluster, f'DROP DATABASE "{name}" WITH (FORCE)')


def make(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "demo.legacy", *arguments]
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)


def counted(url: str) -> list[int]:
    async def run() -> list[int]:
        connection = await asyncpg.connect(url)
        try:
            tables = ("workspaces", "agent_memories")
            return [await connection.fetchval(f"SELECT count(*) FROM {it}") for it in tables]
        finally:
            await connection.close()

    return asyncio.run(run())


def test_it_fills_an_empty_database_and_says_with_what(empty: str) -> None:
    done = make(empty)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "461 rows of 29 workspaces\n"
    assert counted(empty) == [29, 461]


def test_it_leaves_existing_legacy_tables_alone(empty: str) -> None:
    execute(
        empty, "CREATE TABLE agent_memories (id int)", "INSERT INTO agent_memories VALUES (1), (2)"
    )
    done = make(empty)
    assert done.returncode == 1
    assert "give an empty one" in done.stderr
    execute(empty, "CREATE TABLE workspaces ()")  # fails if it had made one
    assert counted(empty) == [0, 2]


@pytest.mark.parametrize("url", ["postgres://127.0.0.1:1/legacy", "nonsense"])
def test_a_database_that_is_not_there_is_one_line(url: str) -> None:
    done = make(url)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("the legacy database cannot be made there")


def test_without_a_database_it_says_how_to_call_it() -> None:
    done = make()
    assert done.returncode == 2
    assert "usage: python -m demo.legacy" in done.stderr
