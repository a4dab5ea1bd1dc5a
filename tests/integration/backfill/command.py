"""`memory-backfill` in this process: what it prints, what it reports, how it exits."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from backfill.cli import app


@dataclass(frozen=True)
class Outcome:
    """A run that has come to its end."""

    code: int
    out: str
    err: str
    report: dict[str, Any]


@dataclass(frozen=True)
class Command:
    """The command with its environment: a source, a target, and a directory of its own."""

    database_url: str
    plugin_url: str
    directory: Path

    def __call__(self, *arguments: str, **environment: str) -> Outcome:
        report = self.directory / "report.json"
        report.unlink(missing_ok=True)
        result = CliRunner().invoke(
            app,
            [*arguments, "--json", str(report), "--state-dir", str(self.directory / "state")],
            env={
                "DATABASE_URL": self.database_url,
                "MEMORY_PLUGIN_URL": self.plugin_url,
                **environment,
            },
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        read = json.loads(report.read_text()) if report.exists() else {}
        return Outcome(result.exit_code, result.stdout, result.stderr, read)
