"""A small legacy installation in its own database, for a backfill to copy."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID, uuid4

import asyncpg

from harness.errors import ConfigurationError

_SCOPES = ("LOCAL", "TEAM", "GLOBAL")


@dataclass(frozen=True)
class Legacy:
    """The installation's address, and what a backfill must find there."""

    url: str
    memories: dict[UUID, tuple[str, str]]
    """The namespace and the content of each memory, by id."""


@asynccontextmanager
async def legacy_installation(server: str, workspaces: Sequence[UUID]) -> AsyncIterator[Legacy]:
    """A database with workspaces in a tree and memories of every scope; dropped afterwards."""
    name = f"memory_harness_{uuid4().hex}"
    try:
        admin = await asyncpg.connect(server)
    except (OSError, asyncpg.PostgresError, ValueError) as error:
        raise ConfigurationError(
            f"--legacy-url cannot be reached: {type(error).__name__}"
        ) from None
    try:
        await admin.execute(f'CREATE DATABASE "{name}"')
        try:
            url = urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
            yield Legacy(url, await _fill(url, workspaces))
        finally:
            await admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    finally:
        await admin.close()


async def _fill(url: str, workspaces: Sequence[UUID]) -> dict[UUID, tuple[str, str]]:
    """The first workspace is the root of all others."""
    root = workspaces[0]
    memories: dict[UUID, tuple[str, str]] = {}
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(files("harness").joinpath("legacy.sql").read_text("utf-8"))
        for number, workspace in enumerate(workspaces):
            await connection.execute(
                "INSERT INTO workspaces VALUES ($1, $2, $3, 'active')",
                workspace,
                f"workspace {number}",
                None if workspace == root else root,
            )
        for number in range(90):
            workspace = workspaces[number % len(workspaces)]
            scope = _SCOPES[number % len(_SCOPES)]
            namespace = {
                "LOCAL": f"workspace:{workspace}",
                # The root is the parent of all, and its own team.
                "TEAM": f"team:{root}",
                "GLOBAL": f"org:{root}",
            }[scope]
            memory, content = uuid4(), f"legacy memory {number}: 記憶 café"
            made = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=number)
            await connection.execute(
                "INSERT INTO agent_memories VALUES ($1, $2, $3, $4, $5, $5)",
                memory,
                workspace,
                content,
                scope,
                made,
            )
            memories[memory] = (namespace, content)
    finally:
        await connection.close()
    return memories
