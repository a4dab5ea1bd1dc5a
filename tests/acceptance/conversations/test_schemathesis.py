"""Schemathesis over the OpenAPI document: no server error, no undocumented answer."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.command import Running
from tests.acceptance.conversations.people import AGENTS, User

ROOT = Path(__file__).parents[3]
CHECKS = ",".join(
    (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    )
)


@pytest.mark.parametrize(
    "examples", [3, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_no_server_error_and_no_undocumented_answer(
    server: Running, alice: User, tmp_path: Path, examples: int
) -> None:
    before = len(server.lines)
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")),
            "run",
            str(ROOT / "conversations" / "openapi.yaml"),
            f"--url={server.address}",
            f"--header=Authorization: Bearer {alice.name}",
            f"--header=X-API-Key: {AGENTS['bot']}",
            f"--checks={CHECKS}",
            "--phases=examples,coverage,fuzzing",
            f"--max-examples={examples}",
            "--exclude-operation-id=followResponse",
            "--no-color",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    failed = [line for line in server.lines[before:] if "request failed" in line]
    assert not failed
