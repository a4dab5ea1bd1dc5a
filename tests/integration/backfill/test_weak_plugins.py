"""Plugins with fewer features: what can still be copied and proven, and what is reported."""

from dataclasses import replace

import pytest

from contract import EXTENSIONS, SearchRequest
from harness.example import Store
from tests.integration.backfill.conftest import Serve
from tests.integration.backfill.legacy import LegacyDatabase

NOTHING = ("embedding", "fts", "ttl", "pin", "propagation", "batch", "list")


def contents(store: Store, namespace: str) -> list[str]:
    """The contents, newest first, as an agent reads them."""
    found = store.search(SearchRequest(namespaces=[namespace], limit=100))
    return [memory.content for memory in found]


@pytest.mark.parametrize(
    "without", [(), ("list",), ("batch",), ("fts", "list"), EXTENSIONS, NOTHING]
)
def test_every_row_is_copied_whatever_the_plugin_offers(
    legacy: LegacyDatabase, serve: Serve, store: Store, without: tuple[str, ...]
) -> None:
    root = legacy.workspace()
    legacy.fill(90, root, legacy.workspace(parent=root), legacy.workspace(parent=root))
    backfill = serve(*without)
    applied = backfill("-apply")
    assert applied.code == 0, applied.err
    assert applied.report["scanned"] == applied.report["written"] == len(store.home) == 90
    verified = backfill("-verify")
    assert verified.code == 0, verified.out
    assert verified.report["matched"] == 90
    assert "safe to cut over" in verified.out


def test_batch_keeps_created_at(legacy: LegacyDatabase, serve: Serve, store: Store) -> None:
    workspace = legacy.workspace()
    legacy.fill(20, workspace)
    serve()("-apply")
    made = {row.created_at for space in store.spaces.values() for row in space.rows.values()}
    assert len(made) == 20
    assert all(moment.year == 2026 and moment.month == 1 for moment in made)


def test_without_batch_newest_first_reads_come_out_right(
    legacy: LegacyDatabase, serve: Serve, store: Store
) -> None:
    root = legacy.workspace()
    child = legacy.workspace(parent=root)
    # Ids are random, so the order of the ids is not the order of the times.
    for number in range(30):
        at = f"2026-01-01 00:00:{59 - number}+00"
        legacy.memory(root, f"note {number:02}", created_at=at)
        legacy.memory(child, f"note {number:02}", created_at=at)
    for without in (("batch",), EXTENSIONS):
        store.spaces.clear()
        store.home.clear()
        assert serve(*without)("-apply").code == 0
        for workspace in (root, child):
            newest_first = contents(store, f"workspace:{workspace}")
            assert newest_first == [f"note {number:02}" for number in range(30)]


def test_a_namespace_too_large_for_one_search_is_proven_by_its_words(
    legacy: LegacyDatabase, serve: Serve
) -> None:
    legacy.fill(700, legacy.workspace())
    backfill = serve("list")
    backfill("-apply")
    verified = backfill("-verify")
    assert verified.code == 0, verified.out
    assert verified.report["matched"] == 700
    assert "text searches" in verified.out
    assert set(verified.report["proofs"].values()) == {
        "text searches",
    }


def test_a_plugin_with_only_embeddings_is_searched_by_embedding(
    legacy: LegacyDatabase, serve: Serve
) -> None:
    legacy.execute("ALTER TABLE agent_memories ADD embedding float4[]")
    workspace = legacy.workspace()
    legacy.memories(workspace, *(f"note {number}" for number in range(130)))
    legacy.execute(
        "UPDATE agent_memories AS m SET embedding = ARRAY[cos(n), sin(n)]"
        " FROM (SELECT id, row_number() OVER () * 0.04 AS n FROM agent_memories) AS numbered"
        " WHERE numbered.id = m.id"
    )
    backfill = serve("list", "fts")
    assert backfill("-apply").code == 0
    verified = backfill("-verify")
    assert verified.code == 0, verified.out
    assert verified.report["matched"] == 130
    assert "embedding searches" in verified.out


def test_what_cannot_be_proven_on_a_minimal_plugin_is_reported(
    legacy: LegacyDatabase, serve: Serve
) -> None:
    workspace = legacy.workspace()
    legacy.memories(workspace, *(f"note {number}" for number in range(130)))
    backfill = serve(*NOTHING)
    assert backfill("-apply").code == 0
    verified = backfill("-verify", "--max-diffs", "10")
    assert verified.code == 4
    assert verified.report["matched"] == 100
    assert verified.report["unproven"] == 30
    assert verified.out.count("unproven: ") == 10
    assert len(verified.report["differences"]) == 30
    assert "the newest 100 only" in verified.out
    assert "30 rows could not be proven" in verified.out
    assert "safe to cut over" not in verified.out


@pytest.mark.parametrize("without", [(), ("list",), NOTHING])
def test_more_than_100_identical_contents_are_copied_and_never_called_missing(
    legacy: LegacyDatabase, serve: Serve, store: Store, without: tuple[str, ...]
) -> None:
    workspace = legacy.workspace()
    legacy.memories(workspace, *["remember to water the plants"] * 150)
    backfill = serve(*without)
    assert backfill("-apply").code == 0
    assert len(store.home) == 150
    verified = backfill("-verify")
    exact = "list" not in without
    assert verified.code == (0 if exact else 4), verified.out
    assert verified.report["matched"] == (150 if exact else 100)
    assert verified.report["missing"] == verified.report["different"] == 0


@pytest.mark.parametrize(
    "content", ["!!! ??? ...", "🦊🦊🦊", "日本語の長い文章がここにある", '-5 or "x"']
)
def test_contents_without_words_are_copied_and_proven(
    legacy: LegacyDatabase, serve: Serve, content: str
) -> None:
    workspace = legacy.workspace()
    legacy.memories(workspace, content, *(f"note {number}" for number in range(120)))
    backfill = serve("list")
    assert backfill("-apply").code == 0
    verified = backfill("-verify")
    assert verified.report["matched"] == 121, verified.out


def test_only_fields_of_listed_capabilities_are_copied(
    legacy: LegacyDatabase, serve: Serve, store: Store
) -> None:
    workspace = legacy.workspace()
    id_ = legacy.memory(workspace)
    serve()("-apply")
    (row,) = store.spaces[f"workspace:{workspace}"].rows.values()
    assert row.id == id_
    assert row.propagation == {
        "legacy": {
            "workspace_id": str(workspace),
            "scope": "LOCAL",
            "namespace": None,
            "created_at": "2026-03-01T12:00:00.123456Z",
            "updated_at": None,
        }
    }
    store.spaces.clear()
    store.home.clear()
    serve("propagation")("-apply")
    (row,) = store.spaces[f"workspace:{workspace}"].rows.values()
    assert row.propagation is None


def test_a_row_that_moved_is_seen_in_the_wrong_namespace_without_list(
    legacy: LegacyDatabase, serve: Serve, store: Store
) -> None:
    here, there = legacy.workspace(), legacy.workspace()
    moved = legacy.memory(here, "the moved one")
    legacy.memory(there, "another")
    backfill = serve("list")
    backfill("-apply")
    row = store.spaces[f"workspace:{here}"].rows.pop(moved)
    elsewhere = f"workspace:{there}"
    store.spaces[elsewhere].rows[moved] = replace(row, namespace=elsewhere)
    verified = backfill("-verify", "-workspace", str(here))
    assert verified.code == 1
    assert f"wrong namespace: {moved} of workspace:{here}" in verified.out
    assert verified.report["wrong_namespace"] == 1
    assert verified.report["missing"] == 0


def test_extras_are_not_the_rows_of_workspaces_that_are_not_compared(
    legacy: LegacyDatabase, serve: Serve, store: Store
) -> None:
    root = legacy.workspace()
    child, sibling = legacy.workspace(parent=root), legacy.workspace(parent=root)
    legacy.memory(child, "mine", "TEAM")
    legacy.memory(sibling, "theirs", "TEAM")
    for without in ((), ("list",)):
        store.spaces.clear()
        store.home.clear()
        backfill = serve(*without)
        backfill("-apply")
        verified = backfill("-verify", "-workspace", str(child), "--no-extras")
        assert verified.code == 0, verified.out
        assert verified.report["matched"] == 1
        assert verified.report["extras"] == 0


def test_ids_are_kept(legacy: LegacyDatabase, serve: Serve, store: Store) -> None:
    workspace = legacy.workspace()
    ids = legacy.memories(workspace, "one", "two", "three")
    serve()("-apply")
    assert set(store.home) == set(ids)
