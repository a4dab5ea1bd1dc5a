"""`memory-backfill` as an operator runs it, against copying the same rows with SQL."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from uuid import uuid4

from bench.load import send
from bench.measure import Measure, Sample
from bench.stage import Stage, connection, execute
from bench.writes import CONNECTIONS, single_requests

ROWS = 100_000
SINGLE_ROWS = 10_000
MANY_ROWS = 1_000_000
_WORKSPACES = 200

# A fifth of the workspaces are roots; the others are children of one of them.
_LEGACY = """
CREATE TABLE public.workspaces (id uuid PRIMARY KEY, name text, parent_id uuid, status text);
CREATE TABLE public.agent_memories (
    id uuid PRIMARY KEY, workspace_id uuid, content text, scope varchar,
    created_at timestamptz, updated_at timestamptz
);
INSERT INTO public.workspaces
SELECT md5('workspace ' || n)::uuid, 'workspace ' || n,
       CASE WHEN n % 5 > 0 THEN md5('workspace ' || n - n % 5)::uuid END, 'online'
FROM generate_series(0, {workspaces} - 1) AS n;
INSERT INTO public.agent_memories
SELECT md5('memory ' || n)::uuid, md5('workspace ' || n % {workspaces})::uuid,
       'The agent noted that service svc-' || n % 5000 || ' needs rare' || n || ' before u'
       || n % 3000 || ' as the user prefers short answers with sources',
       (ARRAY['LOCAL', 'LOCAL', 'LOCAL', 'TEAM', 'GLOBAL'])[1 + n / {workspaces} % 5],
       now() - n * interval '1 second', now()
FROM generate_series(1, {rows}) AS n;
ANALYZE public.workspaces, public.agent_memories;
"""
# The same rows, namespaces, times and provenance that the command copies.
_MOVE = """
CREATE TEMPORARY TABLE moved AS
SELECT m.*, CASE m.scope
    WHEN 'LOCAL' THEN 'workspace:' || m.workspace_id
    WHEN 'TEAM' THEN 'team:' || coalesce(w.parent_id, w.id)
    ELSE 'org:' || coalesce(w.parent_id, w.id)
END AS place
FROM public.agent_memories AS m JOIN public.workspaces AS w ON w.id = m.workspace_id;
INSERT INTO memory_plugin.memory_namespaces (name, kind)
SELECT DISTINCT place, split_part(place, ':', 1) FROM moved;
INSERT INTO memory_plugin.memory_records
    (id, namespace, content, kind, source, created_at, propagation)
SELECT id, place, content, 'fact', 'agent', created_at, jsonb_build_object('legacy',
    jsonb_build_object('workspace_id', workspace_id, 'scope', scope, 'namespace', NULL,
                       'created_at', created_at, 'updated_at', updated_at))
FROM moved;
DROP TABLE moved;
"""
_FORGET = "TRUNCATE memory_plugin.memory_records"
_WIPE = "TRUNCATE memory_plugin.memory_namespaces CASCADE"


def measures(stage: Stage) -> Iterator[Measure]:
    rows = stage.scale(ROWS)
    with stage.database("backfill") as url:
        fill(url, rows)
        with stage.plugin(url) as plugin:
            command = Command(stage.folder, url, plugin)

            def applied() -> Sample:
                asyncio.run(execute(url, _WIPE, "CHECKPOINT"))
                return command.run("-apply")

            applied()
            yield Measure(
                name="backfill-verify",
                title=f"verify of all {rows:,} rows, compared with the apply",
                unit="rows/s",
                contestants={
                    "verify": lambda: command.run("-verify", "--verify-all"),
                    "apply": applied,
                },
                must=1,
            )
            yield Measure(
                name="backfill-apply",
                title=f"apply of {rows:,} rows",
                unit="rows/s",
                contestants={"apply": applied, "INSERT … SELECT": lambda: moved(url, rows)},
                must=0.3,
            )
    yield from singles(stage)
    yield from memory(stage, rows)


def singles(stage: Stage) -> Iterator[Measure]:
    """With the extensions hidden, each row is a separate request."""
    rows = stage.scale(SINGLE_ROWS)
    with stage.database("backfill_singles") as url:
        fill(url, rows)
        asyncio.run(
            execute(
                url,
                "INSERT INTO memory_plugin.memory_namespaces (name, kind)"
                " SELECT 'workspace:' || n, 'workspace' FROM generate_series(0, 199) AS n",
            )
        )
        with stage.plugin(url) as plugin:
            command = Command(stage.folder, url, plugin, module="bench.backfill_hidden")
            requests = single_requests()

            def applied() -> Sample:
                asyncio.run(execute(url, _FORGET, "CHECKPOINT"))
                return command.run("-apply")

            yield Measure(
                name="backfill-singles",
                title=f"apply of {rows:,} rows with the extensions hidden",
                unit="rows/s",
                contestants={
                    "apply": applied,
                    "single writes": lambda: send(
                        plugin, requests, connections=CONNECTIONS, seconds=stage.seconds
                    ),
                },
                must=0.25,
                note="compared with the plugin's own benchmark of single writes",
            )


def memory(stage: Stage, few: int) -> Iterator[Measure]:
    """The command's peak memory over one apply and one verify."""

    @cache
    def peak(rows: int) -> Sample:
        with stage.database(f"backfill_{rows}") as url:
            fill(url, rows)
            with stage.plugin(url) as plugin:
                command = Command(stage.folder, url, plugin)
                runs = [command.run("-apply"), command.run("-verify", "--verify-all")]
                return Sample(max(run.details["MiB"] for run in runs))

    many = stage.scale(MANY_ROWS)
    yield Measure(
        name="backfill-memory",
        title=f"resident memory at {many:,} rows",
        unit="MiB",
        contestants={"memory-backfill": lambda: peak(many)},
        must=200,
        at_most=True,
    )
    yield Measure(
        name="backfill-growth",
        title=f"resident memory at {many:,} rows, compared with {few:,}",
        unit="MiB",
        contestants={f"{many:,} rows": lambda: peak(many), f"{few:,} rows": lambda: peak(few)},
        must=1.15,
        at_most=True,
    )


class Command:
    """The command as a separate process, including its startup."""

    def __init__(
        self, folder: Path, database_url: str, plugin_url: str, module: str = "backfill.cli"
    ) -> None:
        self._folder = folder
        self._module = module
        self._environment = {
            **os.environ,
            "DATABASE_URL": database_url,
            "MEMORY_PLUGIN_URL": plugin_url,
        }

    def run(self, *arguments: str) -> Sample:
        """Rows per second over the whole run, and its peak memory."""
        report = self._folder / f"{uuid4().hex}.json"
        line = [sys.executable, "-m", self._module, *arguments, "--json", str(report)]
        line += ["--state-dir", str(self._folder / uuid4().hex)]
        began = time.perf_counter()
        with subprocess.Popen(
            line, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        found = json.loads(report.read_text())
        if process.returncode != 0:
            raise RuntimeError(f"memory-backfill {arguments} failed: {found}")
        rows = found["scanned"] if "scanned" in found else found["compared"]
        return Sample(rows / seconds, {"MiB": usage.ru_maxrss / 1024})


def fill(url: str, rows: int) -> None:
    """The legacy tables, in the same database as the plugin's schema."""
    asyncio.run(execute(url, _LEGACY.format(workspaces=_WORKSPACES, rows=rows), "CHECKPOINT"))


def moved(url: str, rows: int) -> Sample:
    """The same copy without a plugin and without a network, also into empty tables."""

    async def work() -> float:
        async with connection(url) as opened:
            await opened.execute(_WIPE)
            await opened.execute("CHECKPOINT")
            began = time.perf_counter()
            await opened.execute(_MOVE)
            return time.perf_counter() - began

    return Sample(rows / asyncio.run(work()))
