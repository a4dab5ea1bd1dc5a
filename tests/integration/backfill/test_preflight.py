"""Errors that are reported before anything is changed, and their exit codes."""

from pathlib import Path

import pytest

from harness.example import Store
from tests.integration.backfill.command import Command
from tests.integration.backfill.conftest import Serve
from tests.integration.backfill.example import Troubled, refusing
from tests.integration.backfill.legacy import LegacyDatabase, query_database

MODES = ("-dry-run", "-apply", "-verify")
NOWHERE = "http://127.0.0.1:1"


@pytest.mark.parametrize("mode", MODES)
def test_a_plugin_that_is_not_there_is_exit_3(
    legacy: LegacyDatabase, tmp_path: Path, mode: str
) -> None:
    outcome = Command(legacy.url, NOWHERE, tmp_path)(mode)
    assert outcome.code == 3
    assert f"the plugin at {NOWHERE} is not healthy" in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_degraded_plugin_is_exit_3(
    legacy: LegacyDatabase, serve: Serve, trouble: Troubled
) -> None:
    legacy.fill(3, legacy.workspace())
    backfill = serve()
    trouble.trouble = lambda path, _: (
        refusing(503, "unavailable", "no database") if path == "/v1/health" else None
    )
    outcome = backfill("-apply")
    assert outcome.code == 3
    assert "no database" in outcome.err
    assert trouble.paths == ["/v1/health"]


@pytest.mark.parametrize("mode", MODES)
def test_an_address_without_a_plugin_is_exit_2(
    serve: Serve, trouble: Troubled, legacy: LegacyDatabase, tmp_path: Path, mode: str
) -> None:
    url = f"{serve().plugin_url}/v1"
    outcome = Command(legacy.url, url, tmp_path)(mode)
    assert outcome.code == 2
    assert f"what answers at {url} is not a memory plugin" in outcome.err
    assert "check MEMORY_PLUGIN_URL: it is the plugin's address without /v1" in outcome.err
    assert trouble.paths == ["/v1/v1/health"]


def test_a_timeout_that_is_none_is_exit_2_and_named(serve: Serve) -> None:
    outcome = serve()("-apply", MEMORY_PLUGIN_TIMEOUT="soon")
    assert outcome.code == 2
    assert "MEMORY_PLUGIN_TIMEOUT: must be a duration" in outcome.err


@pytest.mark.parametrize("open_paths", [["/v1/health"], []])
def test_a_plugin_or_a_gateway_that_wants_a_token_is_exit_2(
    legacy: LegacyDatabase, serve: Serve, trouble: Troubled, open_paths: list[str]
) -> None:
    legacy.fill(3, legacy.workspace())
    backfill = serve()
    trouble.trouble = lambda path, _: (
        None if path in open_paths else refusing(401, "forbidden", "a token is needed")
    )
    outcome = backfill("-apply")
    assert outcome.code == 2
    assert "requires a token" in outcome.err
    assert "set MEMORY_PLUGIN_TOKEN" in outcome.err


@pytest.mark.parametrize("mode", MODES)
def test_a_database_that_is_not_there_is_exit_3(serve: Serve, tmp_path: Path, mode: str) -> None:
    url = "postgresql://operator:hunter2@127.0.0.1:1/platform"
    outcome = Command(url, serve().plugin_url, tmp_path)(mode)
    assert outcome.code == 3
    assert "the legacy database 127.0.0.1:1/platform cannot be reached" in outcome.err
    assert "hunter2" not in outcome.err + str(outcome.report)


def test_a_host_name_that_cannot_be_resolved_is_reported_in_words(
    serve: Serve, tmp_path: Path
) -> None:
    url = "postgresql://operator:hunter2@no-such-host.invalid/platform"
    outcome = Command(url, serve().plugin_url, tmp_path)("-dry-run")
    assert outcome.code == 3
    assert "its host name cannot be resolved; check DATABASE_URL" in outcome.err
    assert "gaierror" not in outcome.err
    assert "hunter2" not in outcome.err + str(outcome.report)


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        ("postgresql://u:hunter2@127.0.0.1:1/d?password=hunter2", NOWHERE, 3),
        ("postgresql://u@127.0.0.1:1/d?password=hunter2", NOWHERE, 3),
        ("host=db user=u password=hunter2", NOWHERE, 2),
        ("postgresql://u:hunter2@[nowhere/d", NOWHERE, 2),
        ("postgresql://u:hunter2/3@127.0.0.1/d", NOWHERE, 2),
        ("postgresql://u:3?hunter2@127.0.0.1/d", NOWHERE, 2),
        ("postgresql://127.0.0.1:1/hunter2@127.0.0.1/d", NOWHERE, 3),
        ("", "http://u:hunter2@127.0.0.1:1", 2),
        ("", "http://u:hunter2/3@127.0.0.1:1", 2),
    ],
)
def test_a_password_is_never_printed(
    legacy: LegacyDatabase, tmp_path: Path, source: str, target: str, code: int
) -> None:
    outcome = Command(source or legacy.url, target, tmp_path)("-apply")
    assert outcome.code == code
    assert "hunter2" not in outcome.out + outcome.err + str(outcome.report)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("DROP TABLE agent_memories", "the database has no table agent_memories"),
        ("DROP TABLE workspaces", "the database has no table workspaces"),
        (
            "ALTER TABLE agent_memories DROP scope, DROP created_at",
            "the table agent_memories has no column created_at, scope",
        ),
        (
            "ALTER TABLE agent_memories ALTER id TYPE text",
            "the column agent_memories.id is text, not uuid",
        ),
    ],
)
def test_other_tables_are_exit_2(
    legacy: LegacyDatabase, serve: Serve, change: str, sentence: str
) -> None:
    legacy.execute(change)
    outcome = serve()("-apply")
    assert outcome.code == 2
    assert sentence in outcome.err


def test_a_database_that_does_not_exist_is_exit_2(
    legacy: LegacyDatabase, serve: Serve, tmp_path: Path
) -> None:
    name = legacy.url.partition("?")[0].rpartition("/")[2]
    url = legacy.url.replace(name, "no_such_database")
    outcome = Command(url, serve().plugin_url, tmp_path)("-apply")
    assert outcome.code == 2
    assert "check DATABASE_URL" in outcome.err


def test_a_url_of_another_client_of_postgresql_works(
    legacy: LegacyDatabase, serve: Serve, tmp_path: Path
) -> None:
    legacy.fill(3, legacy.workspace())
    url = f"{legacy.url}&sslmode=disable&connect_timeout=10&pool_max_conns=4&search_path=public"
    outcome = Command(url, serve().plugin_url, tmp_path)("-apply")
    assert outcome.code == 0, outcome.err


def test_a_parameter_that_the_server_does_not_know_is_exit_2(
    legacy: LegacyDatabase, serve: Serve, tmp_path: Path
) -> None:
    outcome = Command(f"{legacy.url}&no_such=1", serve().plugin_url, tmp_path)("-apply")
    assert outcome.code == 2
    assert 'unrecognized configuration parameter "no_such"' in outcome.err


def test_tables_that_may_not_be_read_are_exit_2(
    legacy: LegacyDatabase, serve: Serve, tmp_path: Path
) -> None:
    role = legacy.url.partition("?")[0].rpartition("/")[2] + "_reader"
    query_database(legacy.url, f"CREATE ROLE {role} LOGIN")
    try:
        url = legacy.url.replace("//postgres@", f"//{role}@")
        outcome = Command(url, serve().plugin_url, tmp_path)("-apply")
        assert outcome.code == 2
        assert "may not read the legacy database" in outcome.err
    finally:
        query_database(legacy.url, f"DROP ROLE {role}")


def test_a_workspace_that_does_not_exist_is_exit_2(legacy: LegacyDatabase, serve: Serve) -> None:
    legacy.fill(3, legacy.workspace())
    typo = "018f3c2e-7c4b-7d5a-9b1e-2f6a4c8d0e11"
    outcome = serve()("-verify", f"-workspace={typo}")
    assert outcome.code == 2
    assert f"no workspace {typo}" in outcome.err


def test_an_empty_installation_is_done_at_once(legacy: LegacyDatabase, serve: Serve) -> None:
    assert legacy.url
    backfill = serve()
    assert [backfill(mode).code for mode in MODES] == [0, 0, 0]


def test_a_rejects_file_that_cannot_be_written_is_exit_2(
    legacy: LegacyDatabase, serve: Serve, store: Store
) -> None:
    legacy.fill(3, legacy.workspace())
    outcome = serve()("-apply", "--rejects", "no/such/directory/file")
    assert outcome.code == 2
    assert "cannot write the rejects file" in outcome.err
    assert store.spaces == {}


def test_a_journal_that_cannot_be_written_is_exit_2(
    legacy: LegacyDatabase, serve: Serve, store: Store, tmp_path: Path
) -> None:
    legacy.fill(3, legacy.workspace())
    (tmp_path / "state").write_text("a file where the directory should be")
    outcome = serve("list")("-apply")
    assert outcome.code == 2
    assert "give another directory with --state-dir" in outcome.err
    assert store.home == {}
