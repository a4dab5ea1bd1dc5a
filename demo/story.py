"""The cutover, told in chapters. Every command and every number in it is real."""

import asyncio
import json
import os
import shutil
from pathlib import Path

from rich.console import Console

from demo.legacy import Installation, create, imagine
from demo.stage import Stage, stage

MEMORIES = 4000


def tell(console: Console, report: Path) -> None:
    """Run the whole demo; leaves only the harness report at `report`."""
    with stage(console) as scene:
        installation = imagine(MEMORIES)
        _an_installation(scene, installation)
        scene.chapter(
            "1. Start the plugin",
            "These memories move to the reference plugin, which has its own database.",
        )
        with scene.serving():
            scene.say(json.dumps(scene.health()))
            _dry_run(scene)
            _apply_and_verify(scene)
            _trouble(scene)
            _harness(scene, report)
    console.print()
    console.rule(style="cyan")
    console.print("Everything was stopped and its data deleted. The report remains:")
    console.print(os.path.relpath(report), style="bold", soft_wrap=True)


def _an_installation(scene: Stage, installation: Installation) -> None:
    scene.chapter(
        "Before",
        "Northwind Robotics runs AI agents. For a year they have stored their memories in a table"
        " called agent_memories.",
    )
    asyncio.run(create(scene.legacy, installation))
    counts = scene.sql(
        scene.legacy, "SELECT scope, count(*) FROM agent_memories GROUP BY scope ORDER BY 2 DESC"
    )
    for row in counts:
        scene.say(f"{row['scope']:>8}  {row['count']:,}")
    scene.say("\nSome of what they remember:")
    for row in installation.memories[:4]:
        scene.say(f"  “{row[2]}”")


def _dry_run(scene: Stage) -> None:
    scene.chapter("2. Dry run", "What would an apply do? This writes nothing.")
    scene.run("memory-backfill", "-dry-run", expect=1, lines=20)
    scene.say(
        "",
        "Two rows are blank. No plugin may store a blank memory, so the tool says so now, with an"
        " exit code that a script cannot miss. Nobody needs them:",
    )
    gone = scene.sql(scene.legacy, r"DELETE FROM agent_memories WHERE content !~ '\S' RETURNING id")
    scene.say(f"DELETE {len(gone)}")


def _apply_and_verify(scene: Stage) -> None:
    scene.chapter("3. Apply", "Copy every row, under its old id, to the namespace of its scope.")
    scene.run("memory-backfill", "-apply", expect=0)
    scene.chapter("4. Verify", "Is it safe to flip the flag? Compare both sides row by row.")
    scene.run("memory-backfill", "-verify", "--verify-all", expect=0)


def _trouble(scene: Stage) -> None:
    scene.chapter(
        "5. Trouble",
        "The night before the cutover somebody tidies up the new database by hand:"
        " one memory is deleted, one is rewritten, and one gets a TTL in the past.",
    )
    rows = scene.execute(scene.legacy, "SELECT id FROM agent_memories ORDER BY id LIMIT 3")
    deleted, rewritten, expired = (row["id"] for row in rows)
    table = "memory_plugin.memory_records"
    for statement in (
        f"DELETE FROM {table} WHERE id = '{deleted}'",  # noqa: S608 - our own ids
        f"UPDATE {table} SET content = 'All good.' WHERE id = '{rewritten}'",  # noqa: S608
        f"UPDATE {table} SET expires_at = now() WHERE id = '{expired}'",  # noqa: S608
    ):
        scene.sql(scene.memory, statement)
    scene.say(
        "",
        "Verify finds all three by id. An expired memory is invisible to readers, so it is missing"
        " like the deleted one:",
    )
    scene.run("memory-backfill", "-verify", "--verify-all", expect=1)
    scene.say(
        "",
        "Do not flip the flag. Apply again: it repairs the differences and changes nothing else.",
    )
    scene.run("memory-backfill", "-apply", expect=0)
    scene.run("memory-backfill", "-verify", "--verify-all", expect=0)
    scene.say(
        "", "Parity is proven. Set MEMORY_V2_CUTOVER=true, and keep the legacy table as a backup."
    )


def _harness(scene: Stage, report: Path) -> None:
    scene.chapter(
        "6. Does another plugin work?",
        "Anyone can write a plugin. The harness tests it against the contract; here it tests ours."
        " Areas run in parallel, so their times add up to more than the total.",
    )
    page = scene.directory / "report.html"
    scene.run(
        "memory-harness", "run", scene.plugin, "--profile", "core", "--html", page.name, expect=0
    )
    report.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(page, report)
