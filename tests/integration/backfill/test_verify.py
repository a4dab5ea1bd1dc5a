"""What verify counts and reports for plugins that were filled or changed by others."""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from contract import EXTENSIONS, MemoryWrite, NamespaceUpsert, SearchRequest
from harness.example import ExamplePlugin, Store
from tests.integration.backfill.conftest import Serve
from tests.integration.backfill.example import Trouble, Troubled, plugin, refusing
from tests.integration.backfill.legacy import NOON, LegacyDatabase


def move(store: Store, ids: Iterable[UUID], here: str, there: str) -> None:
    """Rows that another tool put into the wrong namespace."""
    for id_ in ids:
        row = store.spaces[here].rows.pop(id_)
        store.spaces[there].rows[id_] = replace(row, namespace=there)
        store.home[id_] = there


@pytest.mark.parametrize(
    ("moved", "without", "options"),
    [
        (3, (), ("-verify-sample", "1", "--seed", "1")),
        (150, (), ("-workspace", "{here}")),
        (3, ("list",), ("-workspace", "{here}")),
        (150, ("list",), ()),
    ],
    ids=["sample", "workspace", "no list, workspace", "no list"],
)
def test_moved_rows_are_all_counted(
    legacy: LegacyDatabase,
    serve: Serve,
    store: Store,
    moved: int,
    without: tuple[str, ...],
    options: tuple[str, ...],
) -> None:
    here, there = legacy.workspace(), legacy.workspace()
    ids = legacy.memories(here, *(f"note number{number:04}" for number in range(150)))
    legacy.memory(there, "another")
    backfill = serve(*without)
    assert backfill("-apply").code == 0
    move(store, ids[:moved], f"workspace:{here}", f"workspace:{there}")
    if "--seed" in options:
        # The sample has to be the workspace whose rows were moved.
        seeds = (str(seed) for seed in range(100))
        verified = next(
            outcome
            for seed in seeds
            if (outcome := backfill("-verify", "-verify-sample", "1", "--seed", seed)).report[
                "compared"
            ]
            >= 150
        )
    else:
        verified = backfill("-verify", *(option.format(here=here) for option in options))
    report = verified.report
    assert verified.code == 1, verified.out
    others = 0 if options else 1
    assert report["compared"] == 150 + others
    assert report["matched"] == 150 - moved + others
    # Only some are looked for in other namespaces; a run over all of them sees the rest.
    found = moved if not options else min(moved, 100)
    assert report["wrong_namespace"] == found
    assert report["missing"] + report["unproven"] == moved - found
    assert len(report["differences"]) == moved
    assert len({line["id"] for line in report["differences"]}) == moved
    if found < moved:
        assert "100 were looked for in other namespaces" in verified.out


COUNTS = ("matched", "missing", "different", "wrong_namespace", "unproven")


@pytest.mark.parametrize("without", [(), ("list",)], ids=["list", "no list"])
@pytest.mark.parametrize("options", [("-workspace", "{there}"), ("-limit", "1")], ids=str)
def test_rows_that_are_not_compared_are_counted_apart(
    legacy: LegacyDatabase,
    serve: Serve,
    store: Store,
    without: tuple[str, ...],
    options: tuple[str, ...],
) -> None:
    here, third, there = (legacy.workspace() for _ in range(3))
    legacy.memory(there, "the oldest", created_at=NOON - timedelta(days=1))
    moved = [legacy.memory(here, "moved"), legacy.memory(third, "moved too")]
    backfill = serve(*without)
    assert backfill("-apply").code == 0
    for id_, owner in zip(moved, (here, third), strict=True):
        move(store, [id_], f"workspace:{owner}", f"workspace:{there}")
    verified = backfill("-verify", *(option.format(there=there) for option in options))
    report = verified.report
    assert verified.code == 1
    assert (report["compared"], report["matched"]) == (1, 1)
    assert report["compared"] == sum(report[name] for name in COUNTS)
    assert report["others_in_wrong_namespace"] == 2
    assert {line["id"] for line in report["differences"]} == {str(id_) for id_ in moved}
    assert all(line["compared"] is False for line in report["differences"])
    assert report["workspaces_with_a_mismatch"] == 0
    (verdict,) = report["verdict"]
    assert verdict.startswith("2 other rows of the legacy table are in compared namespaces")
    assert "do NOT set MEMORY_V2_CUTOVER" in verdict


@pytest.mark.parametrize("without", [(), ("list",)], ids=["list", "no list"])
def test_with_a_limit_a_moved_row_is_not_called_missing(
    legacy: LegacyDatabase, serve: Serve, store: Store, without: tuple[str, ...]
) -> None:
    here, there = legacy.workspace(), legacy.workspace()
    moved = legacy.memory(here, "the oldest", created_at=NOON - timedelta(days=1))
    legacy.memory(there, "another")
    backfill = serve(*without)
    assert backfill("-apply").code == 0
    move(store, [moved], f"workspace:{here}", f"workspace:{there}")
    verified = backfill("-verify", "-limit=1")
    assert verified.code == 1
    assert (verified.report["wrong_namespace"], verified.report["missing"]) == (1, 0)


@pytest.mark.parametrize("options", [("-limit=2",), ("-workspace={here}",)], ids=str)
def test_the_verdict_on_some_rows_names_the_rejected_ones(
    legacy: LegacyDatabase, serve: Serve, options: tuple[str, ...]
) -> None:
    here = legacy.workspace()
    legacy.memories(here, "the first", " ")
    backfill = serve()
    assert backfill("-apply").code == 1
    verified = backfill("-verify", *(option.format(here=here) for option in options))
    assert verified.code == 1
    verdict = verified.report["verdict"][-1]
    assert "except for 1 rejected row; but that was" in verdict


def test_unproven_rows_of_a_part_do_not_decide_the_cutover(
    legacy: LegacyDatabase, serve: Serve
) -> None:
    here = legacy.workspace()
    legacy.memories(here, *(["all the same words"] * 130))
    backfill = serve("list")
    assert backfill("-apply").code == 0
    for options, words in (
        ((), "decide whether to cut over anyway"),
        ((f"-workspace={here}",), "run -verify without -workspace and -limit before the cutover"),
    ):
        verified = backfill("-verify", *options)
        assert verified.code == 4
        (verdict,) = verified.report["verdict"]
        assert verdict.endswith(words)


class NullPlugin(ExamplePlugin):
    """Sends null for an empty list, as encoders do in some languages."""

    async def search(self, request: Request) -> Response:
        found = self.store.search(await self.read(SearchRequest, request))
        rows: list[Any] | None = [it.model_dump(mode="json") for it in found] or None
        return JSONResponse({"memories": rows})


def test_a_plugin_that_sends_null_for_nothing_is_verified_to_the_end(
    legacy: LegacyDatabase, serve: Serve, store: Store, trouble: Troubled
) -> None:
    id_ = legacy.memory(legacy.workspace(), "the only one")
    backfill = serve(*EXTENSIONS)
    trouble.app = NullPlugin(store, ["fts"], []).app
    assert backfill("-apply").code == 0
    store.spaces.clear()
    store.home.clear()
    verified = backfill("-verify")
    assert verified.code == 1, verified.err
    assert [line["id"] for line in verified.report["differences"]] == [str(id_)]
    assert verified.report["missing"] == 1


@pytest.mark.parametrize(
    "answer", [Trouble(200, {"memories": "?"}), refusing(400, "bad_request")], ids=["shape", "400"]
)
def test_a_plugin_that_violates_the_contract_has_its_own_exit_code(
    legacy: LegacyDatabase, serve: Serve, trouble: Troubled, answer: Trouble
) -> None:
    legacy.memory(legacy.workspace())
    backfill = serve("list")
    assert backfill("-apply").code == 0
    trouble.trouble = lambda path, _: answer if path == "/v1/search" else None
    verified = backfill("-verify")
    assert verified.code == 5
    assert verified.report["exit_code"] == 5
    assert "memory-harness run" in verified.err
    assert "same command" not in verified.err


def test_a_deleted_row_whose_words_are_not_found_is_missing(
    legacy: LegacyDatabase, serve: Serve, store: Store
) -> None:
    workspace = legacy.workspace()
    name = f"workspace:{workspace}"
    ids = legacy.memories(workspace, *(f"note about subject{n}" for n in range(130)))
    backfill = serve("list")
    assert backfill("-apply").code == 0
    del store.spaces[name].rows[ids[7]], store.home[ids[7]]
    verified = backfill("-verify")
    assert verified.code == 1, verified.out
    assert verified.report["missing"] == 1
    assert verified.report["unproven"] == 0
    assert f"missing: {ids[7]} of {name}" in verified.out


def test_with_one_row_more_than_a_search_shows_the_deleted_one_is_missing(
    legacy: LegacyDatabase, serve: Serve, store: Store
) -> None:
    workspace = legacy.workspace()
    ids = legacy.memories(workspace, *(f"note about subject{n}" for n in range(101)))
    backfill = serve("list")
    assert backfill("-apply").code == 0
    del store.spaces[f"workspace:{workspace}"].rows[ids[0]], store.home[ids[0]]
    assert backfill("-verify").report["missing"] == 1


class Wordless(Store):
    """Claims `fts` and finds nothing by words."""

    def search(self, body: SearchRequest) -> list[Any]:
        return [] if body.query else super().search(body)


class StopWords(Store):
    """Does not search for `there`, as stores with a list of stop words do."""

    def search(self, body: SearchRequest) -> list[Any]:
        return [] if body.query and "there" in body.query else super().search(body)


@pytest.mark.parametrize(
    ("store", "content"),
    [
        (Wordless(), "note about subject"),
        (StopWords(), "there"),
        (Store(), "!!! ???"),
        (Store(), "日本語の文章"),
        (Store(), "a b c"),
    ],
    ids=["finds nothing", "stop words", "no words", "no spaces", "short words"],
)
def test_a_row_is_not_called_missing_if_a_search_proves_nothing(
    legacy: LegacyDatabase, serve: Serve, store: Store, trouble: Troubled, content: str
) -> None:
    workspace = legacy.workspace()
    contents = [f"{content}{n}" if "subject" in content else f"subject{n}" for n in range(129)]
    (odd,) = legacy.memories(workspace, content)
    legacy.execute(
        "UPDATE agent_memories SET created_at = created_at - interval '1 day' WHERE id = $1", odd
    )
    legacy.memories(workspace, *contents)
    if content == "there":
        legacy.memories(workspace, "there too")
    backfill = serve("list")
    trouble.app = plugin(store, "list").app
    assert backfill("-apply").code == 0
    name = f"workspace:{workspace}"
    if content != "there":
        del store.spaces[name].rows[odd], store.home[odd]
    verified = backfill("-verify")
    assert verified.report["missing"] == 0, verified.out
    assert str(odd) in {line["id"] for line in verified.report["differences"]}


def test_extras_that_searches_showed_are_a_lower_bound(
    legacy: LegacyDatabase, serve: Serve, store: Store
) -> None:
    workspace = legacy.workspace()
    legacy.memory(workspace, "the legacy one")
    for without, words in ((("list",), "at least 100 extra"), ((), "; 101 extra")):
        store.spaces.clear()
        store.home.clear()
        backfill = serve(*without)
        assert backfill("-apply").code == 0
        for number in range(101):
            write = MemoryWrite(content=f"later {number}", kind="fact", source="agent")
            store.write(f"workspace:{workspace}", write)
        verified = backfill("-verify")
        assert words in verified.out
        assert verified.report["extras_are_all"] == (not without)


def test_rejected_rows_are_not_called_nothing_wrong(legacy: LegacyDatabase, serve: Serve) -> None:
    workspace = legacy.workspace()
    legacy.memories(workspace, *(["all the same words"] * 130), " ")
    backfill = serve("list")
    assert backfill("-apply").code == 1
    verified = backfill("-verify")
    assert verified.code == 1
    assert verified.report["unproven"] == 30
    (verdict,) = verified.report["verdict"]
    assert verdict.startswith("1 row rejected, and 30 rows could not be proven")
    assert "no mismatch was found" not in verified.out


def test_a_row_that_this_tool_rejects_is_not_said_to_fit_no_plugin(
    legacy: LegacyDatabase, serve: Serve
) -> None:
    workspace = legacy.workspace()
    legacy.execute("UPDATE workspaces SET parent_id = id WHERE id = $1", workspace)
    legacy.memory(workspace, "in a cycle", "TEAM")
    verified = serve()("-verify")
    assert "1 row rejected and not copied:" in verified.out
    assert "any plugin" not in verified.out


def test_a_count_of_one_is_singular(legacy: LegacyDatabase, serve: Serve) -> None:
    legacy.memory(legacy.workspace())
    backfill = serve()
    said = "".join(backfill(mode).out for mode in ("-dry-run", "-apply", "-verify"))
    said += backfill("-verify", "-limit=1").out
    assert "1 row of 1 workspace go to 1 namespace" in said
    assert "compared 1 row in 1 namespace" in said
    assert not re.search(r"\b1 rows\b(?!/s)", said)
    assert "1 namespaces" not in said
    assert "1 workspaces" not in said


def copy_with_its_own_time(store: Store, workspace: UUID, ids: Iterable[UUID]) -> None:
    """Copy the rows like another tool: with their ids, but with the time of the copy."""
    name = f"workspace:{workspace}"
    store.put_namespace(name, NamespaceUpsert(kind="workspace"))
    for number, id_ in enumerate(ids):
        write = MemoryWrite(id=id_, content=f"note {number}", kind="fact", source="agent")
        store.write(name, write)


def times(store: Store) -> set[datetime]:
    return {row.created_at for space in store.spaces.values() for row in space.rows.values()}


@pytest.mark.parametrize("without", [(), ("list",)])
def test_rows_with_the_time_of_an_earlier_copy_are_reported_but_not_a_mismatch(
    legacy: LegacyDatabase, serve: Serve, store: Store, without: tuple[str, ...]
) -> None:
    workspace = legacy.workspace()
    ids = legacy.memories(workspace, *(f"note {number}" for number in range(5)))
    copy_with_its_own_time(store, workspace, ids)
    verified = serve(*without)("-verify")
    assert verified.code == 0, verified.out
    assert verified.report["other_created_at"] == 5
    repair = "-apply cannot correct it" if without else "run -apply to correct it"
    assert f"at least 5 rows with a created_at that differs from the legacy one: {repair}" in (
        verified.out.replace("this plugin lacks batch or list, so ", "")
    )


def test_apply_corrects_the_time_of_an_earlier_copy(
    legacy: LegacyDatabase, serve: Serve, store: Store
) -> None:
    workspace = legacy.workspace()
    ids = legacy.memories(workspace, *(f"note {number}" for number in range(30)))
    copy_with_its_own_time(store, workspace, ids)
    backfill = serve()
    applied = backfill("-apply")
    assert applied.code == 0, applied.err
    assert "30 rows had another created_at on the target" in applied.out
    assert applied.report["created_at_corrected"] == 30
    assert set(store.home) == set(ids)
    assert times(store) == {NOON}
    written = store.written
    again = backfill("-apply")
    assert again.report["unchanged"] == 30
    assert store.written == written
    assert "created_at" not in backfill("-verify").out


def test_a_time_that_the_store_has_rounded_is_the_same_time(
    legacy: LegacyDatabase, serve: Serve, store: Store
) -> None:
    legacy.memory(legacy.workspace())
    backfill = serve()
    assert backfill("-apply").code == 0
    for space in store.spaces.values():
        for row in space.rows.values():
            space.rows[row.id] = replace(row, created_at=row.created_at.replace(microsecond=0))
    assert backfill("-apply").report["unchanged"] == 1
    assert backfill("-verify").report["other_created_at"] == 0


def test_a_run_that_dies_while_it_corrects_a_time_loses_nothing(
    legacy: LegacyDatabase, serve: Serve, store: Store, trouble: Troubled
) -> None:
    workspace = legacy.workspace()
    ids = legacy.memories(workspace, *(f"note {number}" for number in range(3)))
    copy_with_its_own_time(store, workspace, ids)
    backfill = serve()
    batches = iter(range(100))

    def second_batch_fails(path: str, _: bytes) -> Trouble | None:
        if path == "/v1/memories/batch" and next(batches) > 0:
            return refusing(503, "unavailable")
        return None

    trouble.trouble = second_batch_fails
    assert backfill("-apply", "--patience", "0.1").code == 3
    assert store.home == {}
    trouble.trouble = lambda *_: None
    assert backfill("-apply").code == 0
    assert set(store.home) == set(ids)
    assert times(store) == {NOON}


def test_a_refused_write_loses_no_existing_row(
    legacy: LegacyDatabase, serve: Serve, store: Store, trouble: Troubled
) -> None:
    workspace = legacy.workspace()
    ids = legacy.memories(workspace, "note 0")
    copy_with_its_own_time(store, workspace, ids)
    backfill = serve()
    failure = {"error": {"code": "bad_request", "message": "embedding: no"}}
    trouble.trouble = lambda path, _: (
        Trouble(200, {"results": [failure]}) if path == "/v1/memories/batch" else None
    )
    assert backfill("-apply").code == 1
    assert set(store.home) == set(ids)
