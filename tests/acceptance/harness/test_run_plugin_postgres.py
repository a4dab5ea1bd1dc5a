"""The reference plugin conforms, through every front."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from harness import Report, Settings, run
from plugin_postgres.app import create_app
from plugin_postgres.schema import SCHEMA
from plugin_postgres.settings import Settings as PluginSettings
from tests import timeouts
from tests.acceptance.command import running

# Each of the other fronts runs the same checks; a part of them shows that it reaches the plugin.
SOME = ("health", "forget", "namespaces", "idempotency.same-id-updates-in-place")


@pytest.fixture
def plugin(database: str, tmp_path: Path) -> Iterator[str]:
    """The plugin as operators run it, in a process of its own."""
    flags = (f"--listen=unix:{tmp_path}/p.sock", f"--database-url={database}")
    with running(*flags) as server:
        yield server.address


def harness(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_line_finds_it_conformant(plugin: str, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = harness("run", plugin, "--timeout", "60", "--json", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    report = Report.model_validate_json(file.read_bytes())
    assert report.verdict == "conformant"
    assert report.counts["unsupported"] == 0
    assert report.left_behind == []


def test_the_python_api_reaches_it(plugin: str) -> None:
    assert run(plugin, Settings(only=SOME, timeout=60)).failures() == []


async def migrated(database: str) -> None:
    connection = await asyncpg.connect(database)
    await SCHEMA.migrate(connection)
    await connection.close()


def test_its_application_runs_in_this_process(database: str) -> None:
    asyncio.run(migrated(database))
    report = run(
        create_app(PluginSettings(database_url=database, **timeouts.LIMITS)),
        Settings(only=SOME, timeout=60),
    )
    assert report.failures() == []
    assert report.counts["pass"] > 25


def test_pytest_reaches_it(plugin: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", f"--rootdir={tmp_path}"]
    options = [f"--memory-plugin-url={plugin}", "--memory-plugin-timeout=60"]
    options += ["-k", "forget or health"]
    done = subprocess.run(
        [*command, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
