"""Rows and workspaces that a clean table would not have."""

import json
from pathlib import Path
from uuid import uuid4

import pytest

from tests.acceptance.backfill.target import TargetPlugin
from tests.integration.backfill.command import Command
from tests.integration.backfill.legacy import LegacyDatabase


def reasons(path: Path) -> dict[str, str]:
    """The rejected ids and why, from a rejects file."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(set(line) == {"id", "workspace_id", "scope", "reason"} for line in lines)
    return {line["id"]: line["reason"] for line in lines}


def test_what_cannot_be_copied_is_rejected_with_a_reason_and_the_rest_is_copied(
    legacy: LegacyDatabase, target: TargetPlugin, backfill: Command, tmp_path: Path
) -> None:
    good = legacy.workspace()
    one, two = legacy.workspace(), legacy.workspace()
    legacy.execute("UPDATE workspaces SET parent_id = $2 WHERE id = $1", one, two)
    legacy.execute("UPDATE workspaces SET parent_id = $2 WHERE id = $1", two, one)
    below = legacy.workspace(parent=one)
    rejected = {
        legacy.memory(None): "no workspace: workspace_id is null",
        legacy.memory(uuid4()): "no workspace: workspace_id is not in the table workspaces",
        legacy.memory(good, ""): "blank content",
        legacy.memory(good, " \t\n\u3000"): "blank content",
        legacy.memory(good, None): "blank content: it is null",
        legacy.memory(good, scope="local"): "unknown scope: 'local'",
        legacy.memory(good, scope=None): "unknown scope: null",
        legacy.memory(one, scope="TEAM"): "parent cycle: the workspace is its own ancestor",
        legacy.memory(two, scope="GLOBAL"): "parent cycle: the workspace is its own ancestor",
        legacy.memory(below, scope="GLOBAL"): "parent cycle: an ancestor",
    }
    copied = {
        legacy.memory(good): f"workspace:{good}",
        legacy.memory(one): f"workspace:{one}",
        legacy.memory(below, scope="TEAM"): f"team:{one}",
    }
    forecast = backfill("-dry-run")
    assert forecast.code == 1
    assert forecast.report["rejected"] == len(rejected)
    file = tmp_path / "rejected.ndjson"
    applied = backfill("-apply", "--rejects", str(file))
    assert applied.code == 1
    assert applied.report["rejected"] == len(rejected)
    assert applied.report["written"] == len(copied)
    assert str(file) in applied.out
    told = reasons(file)
    assert {id_: told[str(id_)][: len(reason)] for id_, reason in rejected.items()} == rejected
    assert target.namespaces() == copied
    verified = backfill("-verify")
    assert verified.code == 1
    assert verified.report["matched"] == len(copied)
    assert verified.report["rejected"] == len(rejected)
    assert "safe to cut over if you do not need the rejected rows" in verified.out


def test_rows_of_removed_workspaces_orphans_and_non_roots_are_copied(
    legacy: LegacyDatabase, target: TargetPlugin, backfill: Command
) -> None:
    root = legacy.workspace(status="removed")
    child = legacy.workspace(parent=root, status="removed")
    missing = uuid4()
    orphan = legacy.workspace(parent=missing)
    grandchild = legacy.workspace(parent=orphan)
    expected = {
        legacy.memory(child, scope="LOCAL"): f"workspace:{child}",
        legacy.memory(child, scope="TEAM"): f"team:{root}",
        legacy.memory(child, scope="GLOBAL"): f"org:{root}",
        legacy.memory(orphan, scope="TEAM"): f"team:{missing}",
        legacy.memory(orphan, scope="GLOBAL"): f"org:{orphan}",
        legacy.memory(grandchild, scope="GLOBAL"): f"org:{orphan}",
    }
    forecast = backfill("-dry-run")
    assert forecast.code == 0
    assert f"workspace {child} is removed" in forecast.out
    assert f"{orphan} names a parent {missing} that does not exist" in forecast.out
    assert backfill("-apply").code == 0
    assert target.namespaces() == expected
    assert backfill("-verify", "--no-extras").code == 0


@pytest.mark.parametrize(("depth", "code"), [(50, 0), (51, 1)])
def test_a_chain_may_be_50_deep_and_no_deeper(
    legacy: LegacyDatabase, target: TargetPlugin, backfill: Command, depth: int, code: int
) -> None:
    chain = [uuid4() for _ in range(depth)]
    legacy.execute(
        "INSERT INTO workspaces SELECT id, 'ws', parent, 'online'"
        " FROM unnest($1::uuid[], $2::uuid[]) AS given (id, parent)",
        chain,
        [None, *chain[:-1]],
    )
    legacy.memory(chain[-1], scope="GLOBAL")
    team = legacy.memory(chain[-1], scope="TEAM")
    applied = backfill("-apply")
    assert applied.code == code, applied.err
    assert target.namespaces()[team] == f"team:{chain[-2]}"
    if code:
        assert list(applied.report["rejected_by_reason"]) == [
            "parent chain of more than 50 workspaces"
        ]


def test_times_that_no_calendar_has_do_not_stop_a_row(
    legacy: LegacyDatabase, target: TargetPlugin, backfill: Command
) -> None:
    workspace = legacy.workspace()
    odd = ["infinity", "-infinity", "0044-03-15 12:00:00+00 BC", None]
    ids = [legacy.memory(workspace, created_at=time) for time in odd]
    first = legacy.memory(workspace, created_at="0001-01-01 00:00:00+00")
    applied = backfill("-apply")
    assert applied.code == 0
    assert applied.report["without_created_at"] == 4
    assert "4 rows have a created_at that no plugin accepts" in applied.out
    rows = target.query("SELECT id, created_at, propagation FROM memory_plugin.memory_records")
    by_id = {row["id"]: row for row in rows}
    kept = [json.loads(by_id[id_]["propagation"])["legacy"]["created_at"] for id_ in ids]
    assert kept == odd
    assert by_id[first]["created_at"].year == 1
    assert backfill("-verify").code == 0


def test_the_optional_columns_are_optional(
    database: str, target: TargetPlugin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    legacy = LegacyDatabase(database, optional_columns=False)
    legacy.fill(10, legacy.workspace())
    backfill = Command(database, target.url, tmp_path)
    assert backfill("-apply").code == 0
    assert backfill("-verify").code == 0


def test_bytes_that_are_not_text_are_rejected(
    cluster: str, target: TargetPlugin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database in SQL_ASCII takes any bytes."""
    monkeypatch.chdir(tmp_path)
    name = f"ascii_{uuid4().hex}"
    legacy_url = cluster.replace("/postgres?", f"/{name}?")
    target_query = f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
    TargetPlugin("", cluster).query(target_query)
    try:
        legacy = LegacyDatabase(legacy_url)
        workspace = legacy.workspace()
        legacy.memory(workspace, "naïve but UTF-8")
        legacy.memory(workspace)
        legacy.execute(
            "UPDATE agent_memories SET content = E'caf\\xe9' WHERE content = 'the sky is blue'"
        )
        backfill = Command(legacy_url, target.url, tmp_path)
        applied = backfill("-apply")
        assert applied.code == 1
        assert applied.report["rejected_by_reason"] == {"content is not UTF-8": 1}
        assert target.count() == 1
    finally:
        TargetPlugin("", cluster).query(f"DROP DATABASE {name} WITH (FORCE)")
