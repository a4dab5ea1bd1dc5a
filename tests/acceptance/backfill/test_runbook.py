"""The operator's runbook, word for word, on PostgreSQL and the real plugin."""

import json
from pathlib import Path

import pytest

from tests.acceptance.backfill import shell
from tests.acceptance.backfill.target import TargetPlugin
from tests.integration.backfill.command import Command
from tests.integration.backfill.legacy import NOON, LegacyDatabase


def test_dry_run_apply_verify_as_the_runbook_says(
    legacy: LegacyDatabase, target: TargetPlugin, backfill: Command, tmp_path: Path
) -> None:
    root = legacy.workspace()
    legacy.fill(1500, root, legacy.workspace(parent=root), legacy.workspace(status="removed"))

    code, out, _ = shell.run(backfill, "-dry-run")
    assert code == 0
    assert "1,500 rows of 3 workspaces go to 7 namespaces; 0 will be rejected" in out
    assert "list, exact both ways" in out
    assert target.count() == 0
    assert target.query("SELECT count(*) FROM memory_plugin.memory_namespaces")[0][0] == 0
    assert list(tmp_path.iterdir()) == []

    code, out, err = shell.run(backfill, "-apply")
    assert code == 0, err
    assert "scanned 1,500 = written 1,500 + rejected 0" in out
    assert target.count() == 1500

    code, out, err = shell.run(backfill, "-verify", "-verify-sample=200")
    assert code == 0, err
    assert "1,500 match, 0 missing" in out
    assert "safe to cut over" in out


def test_applying_twice_duplicates_nothing_and_rewrites_nothing(
    legacy: LegacyDatabase, target: TargetPlugin, backfill: Command
) -> None:
    root = legacy.workspace()
    legacy.fill(300, root, legacy.workspace(parent=root))
    assert backfill("-apply").code == 0
    before = target.versions()
    again = backfill("-apply")
    assert again.code == 0
    assert again.report["unchanged"] == 300
    assert target.versions() == before
    assert len(before) == 300
    # Even when it is told to write everything: the plugin sees that nothing would change.
    assert backfill("-apply", "--restart").code == 0
    assert target.versions() == before


def test_the_rows_arrive_as_they_were(
    legacy: LegacyDatabase, target: TargetPlugin, backfill: Command
) -> None:
    root = legacy.workspace()
    child = legacy.workspace(parent=root)
    content = "  Grüße,\t\n 🦊 'quoted' \\u0000 \"too\"  "
    local = legacy.memory(child, content)
    team = legacy.memory(child, "for the team", "TEAM")
    org = legacy.memory(child, "for all", "GLOBAL")
    own = legacy.memory(root, "a root is its own team", "TEAM")
    assert backfill("-apply").code == 0
    rows = target.query(
        "SELECT id, namespace, content, created_at, propagation FROM memory_plugin.memory_records"
    )
    by_id = {row["id"]: row for row in rows}
    assert by_id[local]["content"] == content
    assert by_id[local]["created_at"] == NOON
    assert '"created_at": "2026-03-01T12:00:00.123456Z"' in by_id[local]["propagation"]
    assert {id_: row["namespace"] for id_, row in by_id.items()} == {
        local: f"workspace:{child}",
        team: f"team:{root}",
        org: f"org:{root}",
        own: f"team:{root}",
    }
    kinds = target.query("SELECT name, kind FROM memory_plugin.memory_namespaces")
    assert {row["kind"] for row in kinds} == {"workspace", "team", "org"}


def test_embeddings_are_copied(
    legacy: LegacyDatabase, target: TargetPlugin, backfill: Command
) -> None:
    legacy.execute("CREATE EXTENSION vector; ALTER TABLE agent_memories ADD embedding vector(3)")
    id_ = legacy.memory(legacy.workspace())
    legacy.execute("UPDATE agent_memories SET embedding = '[0.25, -1, 3e-5]' WHERE id = $1", id_)
    assert backfill("-apply").code == 0
    (row,) = target.query("SELECT embedding::text FROM memory_plugin.memory_records")
    # The plugin keeps vectors in half precision.
    assert json.loads(row["embedding"]) == pytest.approx([0.25, -1, 3e-05], rel=1e-3)


def test_a_sample_is_random_and_its_seed_repeats_it(
    legacy: LegacyDatabase, backfill: Command
) -> None:
    legacy.fill(40, *(legacy.workspace() for _ in range(20)))
    backfill("-apply")
    first = backfill("-verify", "-verify-sample=5", "--seed", "7")
    again = backfill("-verify", "--verify-sample", "5", "--seed=7")
    other = backfill("-verify", "-verify-sample=5")
    assert first.code == again.code == other.code == 0
    assert first.report["proofs"] == again.report["proofs"]
    assert first.report["workspaces_compared"] == 5
    assert first.report["seed"] == 7
    assert (first.out.count("--seed 7"), first.err.count("--seed 7")) == (1, 0)
    assert f"--seed {other.report['seed']}" in other.out
    assert "5 of 20 workspaces: with 95% confidence fewer than" in first.out
    whole = backfill("-verify", "--verify-all")
    assert whole.report["workspaces_compared"] == 20
    assert "20 of 20 workspaces: all of them were compared" in whole.out
