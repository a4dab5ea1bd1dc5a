"""The legacy database of the demo: an installation with realistic agents, and a few odd rows.

It is the same every time, except for the times, which are relative to now. `python -m demo.legacy
URL` creates a small one in an empty database, for trying out a cutover.
"""

import argparse
import asyncio
import random
import re
import sys
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg

HERE = Path(__file__).parent
TEAMS = ("EMEA", "Americas", "Asia Pacific")
DAYS = 400
SMALL = 300

Row = tuple[UUID, UUID, str, str, str, datetime, datetime]


@dataclass(frozen=True)
class Workspace:
    id: UUID
    name: str
    parent: UUID | None
    status: str = "active"


@dataclass(frozen=True)
class Installation:
    workspaces: list[Workspace]
    memories: list[Row]
    rejected: int
    """How many memories no tool can copy, because they are blank."""


def imagine(memories: int, *, seed: int = 7) -> Installation:
    """An organisation with teams of agents, and about as many memories as asked for."""
    chance = random.Random(seed)  # noqa: S311 - a story, not a secret
    voices = tomllib.loads((HERE / "agents.toml").read_text())
    root = Workspace(_uuid(chance), "Northwind Robotics", None)
    workspaces = [root]
    for team in TEAMS:
        lead = Workspace(_uuid(chance), f"{team} lead", root.id)
        workspaces.append(lead)
        workspaces += [
            Workspace(_uuid(chance), f"{team} {role}", lead.id) for role in voices["agents"]
        ]
    workspaces.append(Workspace(_uuid(chance), "Retired pilot", root.id, "removed"))
    rows = [_memory(chance, voices, chance.choice(workspaces)) for _ in range(memories)]
    rows += [_row(chance, chance.choice(workspaces), text) for text in voices["odd"]["lines"]]
    # The same sentence 150 times: more than one page of any search.
    rows += [_row(chance, workspaces[2], "Heartbeat: nothing to report.") for _ in range(150)]
    blank = [_row(chance, workspaces[3], text) for text in ("", "   ")]
    return Installation(workspaces, rows + blank, len(blank))


async def create(url: str, installation: Installation) -> None:
    """Create the legacy tables in a database and fill them; all or nothing."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute((HERE / "legacy.sql").read_text())
            await connection.copy_records_to_table(
                "workspaces",
                records=[(w.id, w.name, w.parent, w.status) for w in installation.workspaces],
            )
            await connection.copy_records_to_table("agent_memories", records=installation.memories)
    finally:
        await connection.close()


def _memory(chance: random.Random, voices: dict[str, Any], workspace: Workspace) -> Row:
    role = workspace.name.rpartition(" ")[2]
    voice = voices["agents"].get(role) or chance.choice(list(voices["agents"].values()))
    line = chance.choice(voice["lines"])
    slots = voices["slots"]
    text = re.sub(r"{(\w+)}", lambda slot: str(chance.choice(slots[slot[1]])), line)
    return _row(chance, workspace, text)


def _row(chance: random.Random, workspace: Workspace, content: str) -> Row:
    scope = chance.choices(("LOCAL", "TEAM", "GLOBAL"), (70, 22, 8))[0]
    made = datetime.now(UTC) - timedelta(seconds=chance.uniform(0, DAYS * 86_400))
    return (_uuid(chance), workspace.id, content, scope, "general", made, made)


def _uuid(chance: random.Random) -> UUID:
    return UUID(int=chance.getrandbits(128), version=4)


def main() -> None:
    parser = argparse.ArgumentParser("python -m demo.legacy")
    parser.add_argument("url", help="an empty PostgreSQL database, as postgres://…")
    url = parser.parse_args().url
    installation = imagine(SMALL)
    try:
        asyncio.run(create(url, installation))
    except asyncpg.DuplicateTableError:
        sys.exit(
            "the database has legacy tables already, and they are left alone; give an empty one"
        )
    except (OSError, ValueError, asyncpg.PostgresError) as error:
        sys.exit(f"the legacy database cannot be made there: {str(error) or type(error).__name__}")
    counts = f"{len(installation.memories)} rows of {len(installation.workspaces)} workspaces"
    sys.stdout.write(f"{counts}\n")


if __name__ == "__main__":
    main()
