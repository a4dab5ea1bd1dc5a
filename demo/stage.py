"""What the demo runs on: two databases, the commands, and a console."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
from rich.console import Console
from rich.text import Text

from postgres.embedded import embedded_postgres

BIN = Path(sys.executable).parent
PATIENCE = 60.0


class Stage:
    """Everything the demo needs; created by `stage` and removed at its end."""

    def __init__(self, console: Console, legacy: str, memory: str, directory: Path) -> None:
        self.console = console
        self.legacy = legacy
        self.memory = memory
        self.directory = directory
        self.plugin = ""

    def chapter(self, title: str, *sentences: str) -> None:
        self.console.print()
        self.console.rule(Text(title, style="bold cyan"), align="left", style="cyan")
        self.say(*sentences)

    def say(self, *sentences: str) -> None:
        for sentence in sentences:
            self.console.print(sentence, highlight=False)

    def run(self, *command: str, expect: int, lines: int = 40) -> None:
        """Run a command and show it; any other exit code ends the demo."""
        self._prompt(" ".join(command))
        done = subprocess.run(  # noqa: S603 - our own commands
            [BIN / command[0], *command[1:]],
            cwd=self.directory,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.console.print(Text.from_ansi(_shortened(done.stdout, lines)), style="dim")
        style = "green" if done.returncode == 0 else "bold red"
        self.console.print(f"[{style}]exit code {done.returncode}[/]", highlight=False)
        if done.returncode != expect:
            raise SystemExit(f"the demo expected exit code {expect} here; please report it")

    def sql(self, url: str, statement: str, *arguments: Any) -> list[Any]:
        """Run SQL and show it."""
        name = "legacy" if url == self.legacy else "memory"
        self._prompt(f'psql {name} -c "{statement}"')
        return self.execute(url, statement, *arguments)

    def _prompt(self, command: str) -> None:
        self.console.print(
            Text.assemble(("\n$ ", "bold green"), (command, "bold")), highlight=False
        )

    def health(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.plugin}/v1/health") as answer:  # noqa: S310 - loopback
            health: dict[str, Any] = json.load(answer)
        return health

    def execute(self, url: str, statement: str, *arguments: Any) -> list[Any]:
        """Run SQL without showing it."""

        async def run() -> list[Any]:
            connection = await asyncpg.connect(url)
            try:
                return await connection.fetch(statement, *arguments)
            finally:
                await connection.close()

        return asyncio.run(run())

    @contextmanager
    def serving(self) -> Iterator[None]:
        """The plugin, as its own process, until the end of the context."""
        self._prompt("memory-plugin-postgres &")
        log = self.directory / "plugin.log"
        with log.open("w") as output:
            process = subprocess.Popen(  # noqa: S603 - our own command
                [BIN / "memory-plugin-postgres", "--listen", "127.0.0.1:0"],
                env={**self._environment(), "MEMORY_PLUGIN_DATABASE_URL": self.memory},
                stdin=subprocess.DEVNULL,
                stderr=output,
            )
        try:
            self.plugin = _address(process, log)
            yield
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "DATABASE_URL": self.legacy,
            "MEMORY_PLUGIN_URL": self.plugin,
            "COLUMNS": str(self.console.width),
        }


@contextmanager
def stage(console: Console) -> Iterator[Stage]:
    """Two databases on an embedded PostgreSQL in a temporary directory, removed afterwards."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mp-demo-")))
        server = stack.enter_context(embedded_postgres(directory / "data"))
        actors = Stage(console, _named(server, "legacy"), _named(server, "memory"), directory)
        for name in ("legacy", "memory"):
            actors.execute(server, f"CREATE DATABASE {name}")
        yield actors


def _named(server: str, name: str) -> str:
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """The address in the plugin's "listening" log line."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        for line in log.read_text().splitlines():
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found and "listening" in line:
                return found[0]
        time.sleep(0.05)
    raise SystemExit(f"the plugin did not start:\n{log.read_text()}")


def _shortened(output: str, lines: int) -> str:
    """The beginning and the end of what a command printed."""
    rows = output.rstrip("\n").splitlines()
    if len(rows) <= lines:
        return "\n".join(rows)
    head, tail = lines // 3, lines - lines // 3
    return "\n".join([*rows[:head], f"… {len(rows) - lines} more lines …", *rows[-tail:]])
