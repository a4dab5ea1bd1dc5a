"""What verify finds on a target that somebody has tampered with."""

from uuid import UUID, uuid4

import pytest

from tests.acceptance.backfill.target import TargetPlugin
from tests.integration.backfill.command import Command
from tests.integration.backfill.legacy import LegacyDatabase


@pytest.fixture
def row(legacy: LegacyDatabase, backfill: Command) -> UUID:
    """One of 200 rows that were copied."""
    workspace = legacy.workspace()
    legacy.fill(199, workspace, legacy.workspace())
    made = legacy.memory(workspace, "the one to tamper with")
    assert backfill("-apply").code == 0
    return made


DELETE = "DELETE FROM memory_plugin.memory_records WHERE id = $1"
CHANGE = "UPDATE memory_plugin.memory_records SET content = 'x' WHERE id = $1"
MOVE = """
UPDATE memory_plugin.memory_records SET namespace = (
    SELECT name FROM memory_plugin.memory_namespaces WHERE kind = 'org' LIMIT 1
) WHERE id = $1
"""
EXPIRE = """
UPDATE memory_plugin.memory_records SET expires_at = now() - interval '1 minute' WHERE id = $1
"""


@pytest.mark.parametrize(
    ("word", "tampering"),
    [
        pytest.param("missing", DELETE, id="deleted"),
        pytest.param("different", CHANGE, id="changed"),
        pytest.param("wrong namespace", MOVE, id="moved"),
        pytest.param("missing", EXPIRE, id="expired"),
    ],
)
def test_a_row_that_was_tampered_with_is_found_and_named(
    row: UUID, target: TargetPlugin, backfill: Command, word: str, tampering: str
) -> None:
    target.query(tampering, row)
    verified = backfill("-verify")
    assert verified.code == 1
    assert f"{word}: {row} of workspace:" in verified.out
    assert verified.report[word.replace(" ", "_")] == 1
    assert verified.report["matched"] == 199
    assert [line["id"] for line in verified.report["differences"]] == [str(row)]
    assert "do NOT set MEMORY_V2_CUTOVER" in verified.out
    assert "tamper" not in verified.out
    if word != "wrong namespace":
        assert backfill("-apply").code == 0
        assert backfill("-verify", "--no-extras").code == 0


def test_an_extra_row_is_listed_and_a_mismatch_only_on_request(
    row: UUID, target: TargetPlugin, backfill: Command
) -> None:
    extra = uuid4()
    target.query(
        "INSERT INTO memory_plugin.memory_records (id, namespace, content, kind, source)"
        " SELECT $1, namespace, 'written later', 'fact', 'agent'"
        " FROM memory_plugin.memory_records WHERE id = $2",
        extra,
        row,
    )
    verified = backfill("-verify")
    assert verified.code == 0
    assert f"extra: {extra} in workspace:" in verified.out
    assert verified.report["extras"] == 1
    assert backfill("-verify", "--no-extras").code == 1


def test_a_row_deleted_in_the_legacy_table_is_extra(
    row: UUID, legacy: LegacyDatabase, backfill: Command
) -> None:
    legacy.execute("DELETE FROM agent_memories WHERE id = $1", row)
    verified = backfill("-verify")
    assert verified.code == 0
    assert verified.report["extras"] == 1


@pytest.mark.usefixtures("row")
def test_many_differences_are_capped_on_the_screen_and_whole_in_the_report(
    target: TargetPlugin, backfill: Command
) -> None:
    target.query("DELETE FROM memory_plugin.memory_records")
    verified = backfill("-verify", "--max-diffs", "3")
    assert verified.code == 1
    assert verified.out.count("missing: ") == 3
    assert "… and 197 more" in verified.out
    assert len(verified.report["differences"]) == 200 == verified.report["missing"]


def test_content_is_shown_only_when_asked_for(
    row: UUID, target: TargetPlugin, backfill: Command
) -> None:
    target.query(DELETE, row)
    quiet = backfill("-verify")
    assert "tamper" not in quiet.out + quiet.err + str(quiet.report)
    assert "the one to tamper with" in backfill("-verify", "--show-content").out
