"""`-apply` to a plugin that refuses, slows down, disappears, lies or was replaced."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from backfill import writer
from contract import EXTENSIONS, MemoryWrite, MemoryWriteResponse, Unavailable
from harness.example import Store
from tests.integration.backfill.command import Outcome
from tests.integration.backfill.conftest import Serve
from tests.integration.backfill.example import (
    ForgetfulStore,
    Trouble,
    Troubled,
    at_peace,
    plugin,
    refusing,
)
from tests.integration.backfill.legacy import LegacyDatabase


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few hundred rows are several batches."""
    monkeypatch.setattr(writer, "MAX_WRITES", 50)


def rejects(outcome: Outcome) -> list[dict[str, str]]:
    """The lines of the rejects file that the output names."""
    path = Path(outcome.report["rejects_file"])
    assert str(path) in outcome.out
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(trouble: Troubled) -> int:
    """How many write requests there were since the last call."""
    count = sum(path.endswith(("/memories", "/batch")) for path in trouble.paths)
    trouble.paths.clear()
    return count


@pytest.mark.parametrize("without", [(), EXTENSIONS])
def test_rows_that_the_plugin_refuses_are_rejected_and_the_rest_is_copied(
    legacy: LegacyDatabase, serve: Serve, store: Store, without: tuple[str, ...]
) -> None:
    workspace, other = legacy.workspace(), legacy.workspace()
    legacy.memories(workspace, "one", "two")
    taken = legacy.memory(workspace, "the id of this one is taken")
    legacy.memory(other)
    backfill = serve(*without)
    backfill("-apply")
    # The row moves on the target; a write must not move it back.
    elsewhere = f"workspace:{other}"
    row = store.spaces[f"workspace:{workspace}"].rows.pop(taken)
    store.spaces[elsewhere].rows[taken] = replace(row, namespace=elsewhere)
    store.home[taken] = elsewhere
    again = backfill("-apply")
    assert again.code == 1
    assert again.report["scanned"] == 4 == again.report["written"] + again.report["rejected"]
    (line,) = rejects(again)
    assert line["id"] == str(taken)
    assert line["workspace_id"] == str(workspace)
    assert line["scope"] == "LOCAL"
    assert line["reason"].startswith("refused by the plugin: 403")
    assert store.home[taken] == f"workspace:{other}"


def test_a_refusal_that_quotes_the_content_is_not_repeated(
    legacy: LegacyDatabase, serve: Serve, trouble: Troubled
) -> None:
    workspace = legacy.workspace()
    legacy.memory(workspace, "my secret is swordfish, keep it")
    backfill = serve("batch")
    trouble.trouble = lambda path, _: (
        refusing(400, "bad_request", "content: 'secret is swordfish' is not allowed")
        if path.endswith("/memories")
        else None
    )
    applied = backfill("-apply")
    assert applied.code == 1
    everything = applied.out + applied.err + json.dumps(applied.report) + str(rejects(applied))
    assert "swordfish" not in everything
    shown = backfill("-apply", "--show-content")
    assert rejects(shown)[0]["content"] == "my secret is swordfish, keep it"


def test_a_batch_that_is_too_large_is_halved(
    legacy: LegacyDatabase, serve: Serve, store: Store, trouble: Troubled
) -> None:
    workspace = legacy.workspace()
    legacy.memories(workspace, *("x" * 500 for _ in range(60)), "y" * 30_000)
    backfill = serve()
    trouble.trouble = lambda _, body: refusing(413, "bad_request") if len(body) > 10_000 else None
    applied = backfill("-apply")
    assert applied.code == 1
    assert len(store.home) == applied.report["written"] == 60
    assert rejects(applied)[0]["reason"].startswith("refused by the plugin: 413")


def test_a_row_that_makes_the_plugin_fail_does_not_stop_the_others(
    legacy: LegacyDatabase, serve: Serve, store: Store, trouble: Troubled
) -> None:
    workspace = legacy.workspace()
    legacy.memories(workspace, *(f"note {number}" for number in range(20)), "poison")
    for without in ((), EXTENSIONS):
        store.spaces.clear()
        store.home.clear()
        backfill = serve(*without)
        trouble.trouble = lambda _, body: refusing(500, "internal") if b'"poison"' in body else None
        applied = backfill("-apply")
        assert applied.code == 1
        assert applied.report["written"] == 20
        assert "500" in rejects(applied)[0]["reason"]


@pytest.mark.parametrize(("status", "code"), [(429, "unavailable"), (503, "unavailable")])
def test_a_busy_plugin_slows_it_down_and_it_says_why(
    legacy: LegacyDatabase, serve: Serve, store: Store, trouble: Troubled, status: int, code: str
) -> None:
    legacy.fill(30, legacy.workspace())
    backfill = serve()
    left = [3]

    def busy(path: str, _: bytes) -> Trouble | None:
        if not path.endswith("/batch") or left[0] == 0:
            return None
        left[0] -= 1
        return refusing(status, code, "the queue is full", **{"Retry-After": "0"})

    trouble.trouble = busy
    applied = backfill("-apply")
    assert applied.code == 0
    assert len(store.home) == 30
    assert f"slowing down: the queue is full (status {status})" in applied.err


def test_writes_of_a_batch_that_were_unavailable_are_not_rejected(
    legacy: LegacyDatabase, serve: Serve, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    legacy.memories(legacy.workspace(), *(f"note {number}" for number in range(6)))
    refusals: Counter[str] = Counter()
    write = store.write

    def tired(name: str, body: MemoryWrite) -> MemoryWriteResponse:
        if refusals[body.content] < 2 * int(body.content.removeprefix("note ")):
            refusals[body.content] += 1
            raise Unavailable("the store is busy")
        return write(name, body)

    monkeypatch.setattr(store, "write", tired)
    applied = serve()("-apply")
    assert (applied.code, applied.report["rejected"]) == (0, 0)
    assert len(store.home) == 6
    assert "slowing down" in applied.err


def test_a_store_that_accepts_nothing_for_long_ends_the_run(
    legacy: LegacyDatabase, serve: Serve, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    legacy.memories(legacy.workspace(), "one", "two")

    def down(name: str, body: MemoryWrite) -> MemoryWriteResponse:
        raise Unavailable(f"cannot write {body.content} to {name}")

    monkeypatch.setattr(store, "write", down)
    stopped = serve()("-apply", "--patience", "0.1")
    assert stopped.code == 3
    assert "run the same command again" in stopped.err
    assert "cannot write" not in stopped.err


@pytest.mark.parametrize("without", [("list",), EXTENSIONS, ("batch",), ()])
def test_a_plugin_that_stays_down_ends_the_run_and_the_same_command_continues(
    legacy: LegacyDatabase, serve: Serve, store: Store, trouble: Troubled, without: tuple[str, ...]
) -> None:
    legacy.fill(300, legacy.workspace(), legacy.workspace())
    backfill = serve(*without)
    trouble.trouble = lambda path, _: (
        refusing(503, "unavailable", "the store is down")
        if len(store.home) >= 200 and path.endswith(("/memories", "/batch"))
        else None
    )
    stopped = backfill("-apply", "--patience", "0.1", "--concurrency", "1")
    assert stopped.code == 3
    assert "the store is down" in stopped.err
    assert "run the same command again" in stopped.err
    assert stopped.report["exit_code"] == 3
    there = len(store.home)
    assert 200 <= there < 300
    trouble.trouble = at_peace
    went_on = backfill("-apply")
    assert went_on.code == 0, went_on.err
    assert len(store.home) == went_on.report["written"] == 300
    # A chunk of the journal may be half done; with `list`, every row is known.
    assert went_on.report["unchanged"] >= (there if "list" not in without else 1)
    assert backfill("-verify", "--no-extras").code == 0


@pytest.mark.parametrize("without", [("list",), EXTENSIONS, ()])
def test_a_target_that_was_wiped_meanwhile_starts_over(
    legacy: LegacyDatabase, serve: Serve, store: Store, trouble: Troubled, without: tuple[str, ...]
) -> None:
    legacy.fill(300, legacy.workspace(), legacy.workspace())
    backfill = serve(*without)
    trouble.trouble = lambda path, _: (
        refusing(503, "unavailable")
        if len(store.home) >= 200 and path.endswith(("/memories", "/batch"))
        else None
    )
    assert backfill("-apply", "--patience", "0.1", "--concurrency", "1").code == 3
    store.spaces.clear()
    store.home.clear()
    trouble.trouble = at_peace
    applied = backfill("-apply")
    assert applied.code == 0
    assert len(store.home) == 300
    assert applied.report["unchanged"] == 0


def test_a_row_changed_in_the_legacy_table_while_it_was_stopped_is_copied_as_it_is_now(
    legacy: LegacyDatabase, serve: Serve, store: Store, trouble: Troubled
) -> None:
    workspace = legacy.workspace()
    legacy.fill(300, workspace)
    backfill = serve("list")
    trouble.trouble = lambda path, _: (
        refusing(503, "unavailable") if len(store.home) >= 150 and "batch" in path else None
    )
    assert backfill("-apply", "--patience", "0.1", "--concurrency", "1").code == 3
    legacy.execute("UPDATE agent_memories SET content = 'new' WHERE id = md5('row 2')::uuid")
    legacy.execute("DELETE FROM agent_memories WHERE id = md5('row 3')::uuid")
    late = legacy.memory(workspace, "committed late", created_at="2026-01-01 00:00:02+00")
    trouble.trouble = at_peace
    applied = backfill("-apply")
    assert applied.code == 0
    assert 0 < applied.report["unchanged"] < 300
    contents = {
        row.id: row.content for space in store.spaces.values() for row in space.rows.values()
    }
    assert contents[late] == "committed late"
    assert sum(content == "new" for content in contents.values()) == 1


@pytest.mark.parametrize("without", [(), ("batch",)])
def test_a_finished_apply_run_again_writes_only_what_was_lost_or_changed(
    legacy: LegacyDatabase, serve: Serve, store: Store, trouble: Troubled, without: tuple[str, ...]
) -> None:
    workspace = legacy.workspace()
    lost, changed, *_ = legacy.memories(workspace, *(f"note {number}" for number in range(10)))
    backfill = serve(*without)
    backfill("-apply")
    assert written(trouble) > 0
    again = backfill("-apply")
    assert again.code == 0
    assert written(trouble) == 0
    assert again.report["unchanged"] == again.report["written"] == 10
    rows = store.spaces[f"workspace:{workspace}"].rows
    del rows[lost], store.home[lost]
    object.__setattr__(rows[changed], "content", "tampered")
    repaired = backfill("-apply")
    assert repaired.code == 0
    assert repaired.report["unchanged"] == 8
    assert {row.content for row in rows.values()} == {f"note {number}" for number in range(10)}
    assert backfill("-verify", "--no-extras").code == 0


def test_restart_writes_every_row_again(
    legacy: LegacyDatabase, serve: Serve, trouble: Troubled
) -> None:
    legacy.memories(legacy.workspace(), "one", "two")
    backfill = serve()
    backfill("-apply")
    written(trouble)
    applied = backfill("-apply", "--restart")
    assert applied.report["unchanged"] == 0
    assert written(trouble) == 1


def test_a_plugin_that_acknowledges_and_drops_every_100th_write_is_caught(
    legacy: LegacyDatabase, serve: Serve, trouble: Troubled
) -> None:
    legacy.fill(400, legacy.workspace(), legacy.workspace())
    backfill = serve()
    lying = ForgetfulStore()
    trouble.app = plugin(lying).app
    applied = backfill("-apply")
    assert applied.code == 0
    verified = backfill("-verify")
    assert verified.code == 1
    assert verified.report["missing"] == 4 == verified.out.count("missing: ")
    assert "do NOT set MEMORY_V2_CUTOVER" in verified.out
    assert {UUID(line["id"]) for line in verified.report["differences"]}.isdisjoint(lying.home)


def test_a_plugin_that_does_not_keep_ids_is_stopped_at_once(
    legacy: LegacyDatabase, serve: Serve, trouble: Troubled
) -> None:
    legacy.memories(legacy.workspace(), "one", "two")
    backfill = serve(*EXTENSIONS)
    trouble.trouble = lambda path, _: (
        Trouble(201, {"id": "00000000-0000-4000-8000-000000000000", "namespace": "workspace:1"})
        if path.endswith("/memories")
        else None
    )
    applied = backfill("-apply")
    assert applied.code == 5
    assert "does not keep MemoryWrite.id" in applied.err


def test_only_the_chosen_rows_are_copied(
    legacy: LegacyDatabase, serve: Serve, store: Store
) -> None:
    chosen, other = legacy.workspace(), legacy.workspace()
    new = legacy.memory(chosen, "new", created_at="2026-02-02 00:00+00")
    old = legacy.memory(chosen, "old", created_at="2026-01-01 00:00+00")
    legacy.memory(other, "oldest of all", created_at="2025-01-01 00:00+00")
    backfill = serve()
    assert backfill("-apply", f"-workspace={chosen}", "-limit=1").report["scanned"] == 1
    assert set(store.home) == {old}
    assert backfill("-verify", f"-workspace={chosen}", "-limit=1", "--no-extras").code == 0
    assert backfill("-apply", f"-workspace={chosen}").report["scanned"] == 2
    assert set(store.home) == {old, new}


@pytest.mark.parametrize("flag", ["-workspace={}", "-limit=2"])
def test_a_verify_of_some_rows_does_not_call_for_the_cutover(
    legacy: LegacyDatabase, serve: Serve, flag: str
) -> None:
    chosen = legacy.workspace()
    legacy.fill(2, chosen)
    backfill = serve()
    some = flag.format(chosen)
    backfill("-apply", some)
    verified = backfill("-verify", some)
    assert verified.code == 0
    assert "every compared row is there" in verified.out
    assert "verify without -workspace and -limit before the cutover" in verified.out
    assert "safe to cut over" not in verified.out
    assert verified.report["may_cut_over"] is False


def test_a_dry_run_writes_nothing_anywhere(
    legacy: LegacyDatabase, serve: Serve, store: Store, trouble: Troubled, tmp_path: Path
) -> None:
    legacy.fill(30, legacy.workspace())
    legacy.memory(None)
    forecast = serve()("-dry-run")
    assert forecast.code == 1
    assert forecast.report["rows"] == 31
    assert forecast.report["rejected"] == 1
    assert trouble.paths == ["/v1/health"]
    assert store.spaces == {}
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
