"""How the command is spelled; nothing here reaches a database or a plugin."""

from pathlib import Path
from uuid import UUID

import pytest
from typer.testing import CliRunner

from backfill import cli
from backfill.main import Mode
from backfill.run import Options

ENVIRONMENT = {
    "DATABASE_URL": "postgresql://operator:hunter2@db/platform",
    "MEMORY_PLUGIN_URL": "http://plugin:9100",
    "MEMORY_PLUGIN_TIMEOUT": "5s",
    "XDG_STATE_HOME": "/state",
}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Mode, Options]]:
    """What the command line started."""
    calls: list[tuple[Mode, Options]] = []

    def start(mode: Mode, options: Options) -> int:
        calls.append((mode, options))
        return 0

    monkeypatch.setattr(cli, "run_mode", start)
    return calls


def run(*arguments: str, environment: dict[str, str] | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, arguments, env=environment or ENVIRONMENT)
    return result.exit_code, result.output


@pytest.mark.parametrize("mode", ["dry-run", "apply", "verify"])
@pytest.mark.parametrize("dashes", ["-", "--"])
def test_a_mode_has_one_dash_or_two(
    started: list[tuple[Mode, Options]], mode: str, dashes: str
) -> None:
    assert run(f"{dashes}{mode}") == (0, "")
    assert [call[0] for call in started] == [mode]


@pytest.mark.parametrize(
    "arguments", [(), ("-apply", "-verify"), ("-dry-run", "--apply"), ("-aply",), ("apply",)]
)
def test_anything_but_exactly_one_mode_is_a_usage_error(
    started: list[tuple[Mode, Options]], arguments: tuple[str, ...]
) -> None:
    code, _ = run(*arguments)
    assert code == 2
    assert started == []


@pytest.mark.parametrize(
    "arguments",
    [
        (
            "-verify",
            "-verify-sample=200",
            "-workspace=018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11",
            "-limit=5",
        ),
        (
            "--limit",
            "5",
            "-verify-sample",
            "200",
            "--workspace",
            "018F3C2E-7C4B-7D5A-9B1E-2F6A4C8D0E11",
            "--verify",
        ),
    ],
)
def test_values_follow_an_equals_sign_or_a_space(
    started: list[tuple[Mode, Options]], arguments: tuple[str, ...]
) -> None:
    assert run(*arguments)[0] == 0
    ((_, options),) = started
    assert options.verify_sample == 200
    assert options.selection.limit == 5
    assert options.selection.workspace == UUID("018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11")


@pytest.mark.parametrize(
    "arguments",
    [("-limit=0",), ("-limit=x",), ("-workspace=7",), ("-verify-sample=0",), ("--concurrency=0",)],
)
def test_invalid_values_are_usage_errors(
    started: list[tuple[Mode, Options]], arguments: tuple[str, ...]
) -> None:
    assert run("-verify", *arguments)[0] == 2
    assert started == []


@pytest.mark.parametrize("extra", ["-verify-sample=20", "--verify-sample=50", "--seed=7"])
def test_a_sample_of_all_workspaces_is_a_usage_error(
    started: list[tuple[Mode, Options]], extra: str
) -> None:
    code, output = run("-verify", extra, "--verify-all")
    assert (code, started) == (2, [])
    assert "leave out -verify-sample" in output


def test_all_workspaces_are_not_a_sample(started: list[tuple[Mode, Options]]) -> None:
    assert run("-verify", "--verify-all")[0] == 0
    assert started[0][1].verify_sample is None


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("-aply", "No such option: -aply. Did you mean -apply?"),
        ("--aply", "No such option: --aply. Did you mean --apply?"),
        ("-verify-sampel=20", "No such option: -verify-sampel. Did you mean -verify-sample?"),
        ("-verify-all", "No such option: -verify-all. Did you mean --verify-all?"),
        ("-xyz", "No such option: -xyz\n"),
    ],
)
def test_a_flag_that_does_not_exist_is_named_as_it_was_typed(
    started: list[tuple[Mode, Options]], typed: str, said: str
) -> None:
    code, output = run("-verify", typed)
    assert (code, started) == (2, [])
    assert said in output


def test_a_value_may_look_like_a_flag(started: list[tuple[Mode, Options]]) -> None:
    assert run("-apply", "--json", "-report")[0] == 0
    assert started[0][1].json == Path("-report")


def test_the_environment_says_where(started: list[tuple[Mode, Options]]) -> None:
    run("-apply")
    ((_, options),) = started
    assert options.database_url == ENVIRONMENT["DATABASE_URL"]
    assert options.plugin_url == ENVIRONMENT["MEMORY_PLUGIN_URL"]
    assert options.request_timeout == "5s"
    assert options.state_dir == Path("/state/memory-backfill")
    assert options.verify_sample == 50


@pytest.mark.parametrize("name", ["DATABASE_URL", "MEMORY_PLUGIN_URL"])
def test_without_an_address_it_does_not_guess_one(
    started: list[tuple[Mode, Options]], name: str
) -> None:
    code, output = run("-apply", environment=ENVIRONMENT | {name: ""})
    assert code == 2
    assert name in output
    assert started == []


def test_the_help_has_examples_and_the_exit_codes() -> None:
    code, output = run("--help")
    assert (code, output) == run("-h")
    assert code == 0
    assert "memory-backfill -verify -verify-sample=200" in output
    for code in range(5):
        assert f"\n    {code}  " in output
