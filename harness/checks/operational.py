"""What an operator relies on: restarts, a store that fails, a backfill that can be repeated.

These run after all other checks, one at a time, with commands from the plugin's author.
"""

import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from contract import DegradedHealth, Memory, MemoryPluginError, parse
from harness.check import check
from harness.command import run_program
from harness.errors import Failure, HarnessError
from harness.exchange import NoAnswer
from harness.trial import Trial, expect, expect_equal

_DURABLE = "A plugin never answers 2xx before the write is durable."
_DOWN = (
    "503 (backing store down): the Error envelope with status: degraded, version, capabilities"
    " beside it; 503 with Retry-After on every endpoint."
)
_TWICE = "Backfill twice: no row is doubled; verify reports zero mismatches."
_PATIENCE = 60.0


async def _is_up(trial: Trial) -> None:
    """Wait until the plugin is healthy again."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            if (await trial.send("GET", "/v1/health")).status == 200:
                return
        except NoAnswer:
            pass
        await asyncio.sleep(0.2)
    raise Failure(f"a plugin that is well within {_PATIENCE:g} s", "none")


@check("operational.survives-a-restart", _DURABLE, needs=["--restart-cmd"], alone=True)
async def survives_a_restart(trial: Trial) -> None:
    """Writes, restarts the plugin, and expects everything as it was, times included."""
    name = await trial.namespace(metadata={"keep": ["me", None]})
    await trial.fill(name, [f"note {number}" for number in range(50)])

    async def everything() -> list[Memory]:
        rows = await trial.found(name, limit=100)
        return sorted(rows, key=lambda row: row.id)

    before = await everything()
    await trial.run_command(str(trial.settings.restart_cmd))
    await _is_up(trial)
    expect_equal("memories after the restart", await everything(), before)
    metadata = (await trial.put(name)).expect(200).object.get("metadata")
    expect_equal("metadata after the restart", metadata, {"keep": ["me", None]})


@check("operational.keeps-what-it-acknowledged", _DURABLE, needs=["--restart-cmd"], alone=True)
async def keeps_what_it_acknowledged(trial: Trial) -> None:
    """Restarts the plugin under ten writers: acknowledged writes are there, others may be."""
    names = [await trial.namespace() for _ in range(10)]
    restarted = asyncio.Event()
    acknowledged: list[str] = []

    async def writer(name: str) -> None:
        for number in range(100):
            if restarted.is_set():
                return
            try:
                answer = await trial.write(name, f"note {number}")
            except NoAnswer:
                await asyncio.sleep(0.05)
                continue
            if answer.status == 201:
                acknowledged.append(str(answer.object.get("id")))
            await asyncio.sleep(0.01)

    async def restart() -> None:
        await asyncio.sleep(0.3)
        try:
            await trial.run_command(str(trial.settings.restart_cmd))
        finally:
            restarted.set()

    await asyncio.gather(restart(), *(writer(name) for name in names))
    await _is_up(trial)
    found = {str(row.id) for name in names for row in await trial.found(name, limit=100)}
    lost = [memory_id for memory_id in acknowledged if memory_id not in found]
    expect(acknowledged, "some writes before the restart", "none")
    expect_equal("rows that were acknowledged and lost", lost, [])


@check(
    "operational.503-while-the-store-is-down",
    _DOWN,
    needs=["--store-down-cmd", "--store-up-cmd"],
    alone=True,
)
async def unavailable_while_the_store_is_down(trial: Trial) -> None:
    """Stops the store: 503 everywhere, in time. Starts it again: nothing is lost."""
    name = await trial.namespace()
    await trial.written(name, "before")
    await trial.run_command(str(trial.settings.store_down_cmd))
    try:
        health = (await trial.send("GET", "/v1/health")).expect(503)
        try:
            parse(DegradedHealth, health.body)
        except MemoryPluginError as error:
            raise Failure(f"an Error with status: degraded ({error})", health.shown) from None
        for answer in (
            await trial.write(name, "during"),
            await trial.search(name),
            await trial.put(name),
            await trial.forget(trial.uuid(), name),
        ):
            answer.expect_error(503, "unavailable")
            wait = answer.headers.get("retry-after")
            expect(wait is not None, "503 with a Retry-After header", dict(answer.headers))
    finally:
        await trial.run_command(str(trial.settings.store_up_cmd))
        await _is_up(trial)
    await trial.written(name, "after")
    expect_equal("memories", sorted(await trial.contents(name)), ["after", "before"])


async def _backfill(environment: dict[str, str], *arguments: str) -> str:
    """Run the backfill, which must succeed; for the harness it is a command like any other."""
    beside = Path(sys.executable).with_name("memory-backfill")
    program = str(beside) if beside.exists() else shutil.which("memory-backfill")
    if program is None:
        raise HarnessError("memory-backfill is not installed; install the whole package")
    code, output = await run_program([program, *arguments], environment)
    expect(code == 0, f"memory-backfill {' '.join(arguments)} to succeed", f"{code}: {output}")
    return output


@check("operational.backfill-twice", _TWICE, needs=["--legacy-url"], alone=True)
async def backfill_twice(trial: Trial) -> None:
    """Copies a small legacy installation twice: every row once, in its namespace, unchanged.

    Then the two sides are compared by `memory-backfill -verify`: zero mismatches.
    """
    # Imported here because only this check needs a PostgreSQL driver.
    from harness.legacy import legacy_installation

    if trial.url.startswith("asgi:"):
        raise HarnessError("a backfill needs a plugin at an address; serve the application")
    workspaces = await trial.workspaces()
    server = str(trial.settings.legacy_url)
    async with legacy_installation(server, workspaces) as legacy:
        with tempfile.TemporaryDirectory(prefix="memory-harness-") as state:
            environment = {"DATABASE_URL": legacy.url, "MEMORY_PLUGIN_URL": trial.url}
            await _backfill(environment, "-apply", "--state-dir", state)
            await _backfill(environment, "-apply", "--restart", "--state-dir", state)
            await _backfill(environment, "-verify", "--verify-all", "--no-extras")
        wanted = sorted((str(key), *value) for key, value in legacy.memories.items())
        found = []
        for name in sorted({namespace for namespace, _ in legacy.memories.values()}):
            found += await trial.found(name, limit=100)
        rows = sorted((str(row.id), row.namespace, row.content) for row in found)
        expect_equal("rows in the plugin", rows, wanted)
