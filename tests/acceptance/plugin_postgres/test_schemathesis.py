"""Schemathesis over the OpenAPI document, every check and every phase, on the real command."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.command import running

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "examples", [8, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_no_server_error_and_no_undocumented_answer(
    migrated: str, tmp_path: Path, examples: int
) -> None:
    with running("--listen=127.0.0.1:0", f"--database-url={migrated}") as plugin:
        done = subprocess.run(
            [
                str(Path(sys.executable).with_name("schemathesis")),
                f"--config-file={ROOT / 'schemathesis.toml'}",
                "run",
                str(ROOT / "contract" / "openapi.yaml"),
                f"--url={plugin.address}",
                "--checks=all",
                "--phases=examples,coverage,fuzzing,stateful",
                f"--max-examples={examples}",
                "--no-color",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Stateful" in done.stdout
        assert plugin.stop() == 0
    assert not [line for line in plugin.lines if "request failed" in line or " ERROR " in line]
