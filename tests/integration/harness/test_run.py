"""A run against a real application: what it finds, what it reports, what it leaves behind."""

import asyncio
from collections.abc import Iterable
from typing import Any
from uuid import UUID

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contract import (
    CAPABILITIES,
    EXTENSIONS,
    BadRequest,
    MemoryWrite,
    MemoryWriteResponse,
    Namespace,
    NamespaceUpsert,
)
from harness import Failure, Report, Settings, Unreachable, find_check, run, run_async
from harness.example import ExamplePlugin, Store
from harness.ledger import RUNS
from harness.runner import CheckFinished, Event, RunFinished, RunStarted
from harness.session import open_session
from tests.waiting import pass_time


def report_on(plugin: ExamplePlugin, **settings: Any) -> Report:
    return run(plugin.app, Settings(**settings))


def outcome(report: Report, check_id: str) -> str:
    return next(result.outcome for result in report.results if result.id == check_id)


def test_the_example_conforms_in_core_and_nothing_of_the_run_is_left() -> None:
    store = Store()
    mine = store.put_namespace("custom:mine", NamespaceUpsert(kind="custom"))
    report = report_on(ExamplePlugin(store), profile="core")
    assert (report.verdict, report.exit_code) == ("conformant", 0), report.reason
    assert report.counts["pass"] == len(report.results)
    assert report.left_behind == []
    assert [space.stored for space in store.spaces.values()] == [mine]


def test_foreign_memories_next_to_the_notes_stay() -> None:
    store = Store()
    store.put_namespace(RUNS, NamespaceUpsert(kind="custom"))
    store.write(RUNS, MemoryWrite(content="not a note", kind="fact", source="user"))
    report_on(ExamplePlugin(store), only=("health",))
    assert [row.content for row in store.spaces[RUNS].rows.values()] == ["not a note"]


def test_a_failure_shows_the_sentence_both_sides_and_how_to_repeat_it() -> None:
    class Keeps(Store):
        def forget(self, key: UUID, requested_by: str) -> None:
            pass

    store = Keeps()
    report = report_on(ExamplePlugin(store), only=("forget.removes-the-memory",))
    assert (report.verdict, report.exit_code) == ("not conformant", 1)
    (failed,) = report.failures()
    assert "never returned again" in failed.sentence
    assert failed.expected == 'what is left: ["to be kept"]'
    assert failed.got == '["to be kept", "to be forgotten"]'
    assert len(failed.curl) == 5
    assert failed.curl[0].startswith("curl -sS -X PUT ")
    # The notes of the run cannot be forgotten there either; everything else is gone.
    assert list(store.spaces) == [RUNS]


@pytest.mark.parametrize("name", [*CAPABILITIES, *EXTENSIONS])
def test_what_is_not_claimed_is_unsupported_and_the_rest_conforms(name: str) -> None:
    plugin = ExamplePlugin(
        Store(),
        [other for other in CAPABILITIES if other != name],
        [other for other in EXTENSIONS if other != name],
    )
    report = report_on(plugin, only=("negotiation", "errors", "hybrid", "propagation", "listing"))
    assert report.failures() == []
    unsupported = [result for result in report.results if result.outcome == "unsupported"]
    assert unsupported
    assert all(name in result.needs for result in unsupported)
    assert outcome(report, f"negotiation.{name}") == "pass"


def test_a_plugin_that_claims_nothing_is_tested_on_the_rest() -> None:
    report = report_on(
        ExamplePlugin(Store(), [], []), only=("generated.stateful", "negotiation", "fts")
    )
    assert report.failures() == []
    judged = [result for result in report.results if result.outcome == "pass"]
    assert {result.area for result in judged} == {"generated", "negotiation", "safety"}


def test_an_exclusion_makes_the_verdict_partial_whatever_passed() -> None:
    report = report_on(ExamplePlugin(Store()), profile="core", only=("health",))
    assert report.counts["fail"] == 0
    assert (report.verdict, report.exit_code) == ("partial", 4)


def test_operational_without_commands_is_partial() -> None:
    report = report_on(ExamplePlugin(Store()), profile="operational", only=("operational",))
    assert {result.outcome for result in report.results if result.area == "operational"} == {
        "excluded"
    }
    assert report.verdict == "partial"


class NamespacesOnly(ExamplePlugin):
    """What an author has on the first day: health and namespaces, no memories."""

    def routes(self) -> Iterable[Route]:
        started = ("/v1/health", "/v1/namespaces/{name}")
        return [route for route in super().routes() if route.path in started]


def test_a_plugin_without_memories_yet_can_be_tried_with_what_it_has() -> None:
    store = Store()
    report = report_on(NamespacesOnly(store, [], []), only=("health", "namespaces.put*"))
    assert (report.verdict, report.exit_code) == ("partial", 4), report.reason
    assert {r.outcome for r in report.results if r.id.startswith("namespaces.put-")} == {"pass"}
    assert outcome(report, "safety.deletes-what-it-made") == "pass"
    assert report.left_behind == []
    assert store.spaces == {}


def test_a_plugin_without_memories_fails_the_checks_that_write_some() -> None:
    store = Store()
    report = report_on(NamespacesOnly(store, [], []), only=("namespaces", "writes"))
    assert report.verdict == "not conformant"
    assert outcome(report, "namespaces.put-creates") == "pass"
    failed = next(r for r in report.results if r.id == "namespaces.refresh-keeps-memories")
    assert failed.outcome == "fail"
    assert failed.expected is not None
    assert failed.expected.startswith("201 for POST /v1/namespaces/")
    assert store.spaces == {}


def test_nothing_is_run_against_a_plugin_without_memories_that_cannot_delete() -> None:
    class Forever(Store):
        def delete_namespace(self, name: str) -> None:
            pass

    report = report_on(NamespacesOnly(Forever(), [], []), only=("health", "namespaces"))
    assert [result.id for result in report.results if result.outcome == "fail"] == [
        "safety.deletes-what-it-made"
    ]
    assert report.counts["pass"] == 0


def test_no_memory_is_written_when_the_first_could_not_be() -> None:
    class Late(ExamplePlugin):
        """Has no memories while the harness tests deleting them, but has them later."""

        posts = 0

        async def write(self, request: Request) -> Response:
            if request.path_params["name"] == RUNS:
                return await super().write(request)
            self.posts += 1
            if self.posts == 1:
                raise HTTPException(404)
            return await super().write(request)

    plugin = Late(Store())
    report = report_on(plugin, only=("writes", "batch", "generated"))
    assert outcome(report, "writes.makes-a-fresh-id") == "fail"
    assert plugin.posts == 1


def test_nothing_is_run_against_a_plugin_that_cannot_delete() -> None:
    class Forever(Store):
        def delete_namespace(self, name: str) -> None:
            pass

    store = Forever()
    report = report_on(ExamplePlugin(store), profile="core")
    assert report.verdict == "not conformant"
    assert [result.id for result in report.results if result.outcome == "fail"] == [
        "safety.deletes-what-it-made"
    ]
    assert report.counts["error"] == len(report.results) - 1
    # One namespace with one memory, and the note about it.
    assert len(store.spaces) == 2


def test_a_plugin_that_hangs_in_one_endpoint_fails_there() -> None:
    class Hangs(ExamplePlugin):
        async def patch_namespace(self, request: Request) -> Response:
            pass_time(60)
            await asyncio.Event().wait()
            return await super().patch_namespace(request)

    report = report_on(
        Hangs(Store()),
        only=("namespaces.patch-unknown", "health.answers-ok"),
        timeout=60,
        parallel=1,
    )
    assert outcome(report, "health.answers-ok") == "pass"
    (failed,) = report.failures()
    assert failed.outcome == "fail"
    assert failed.got is not None
    assert failed.got.endswith("no answer within 60 s")


def test_a_plugin_that_goes_away_is_unreachable_and_the_rest_is_not_run() -> None:
    class Dies(ExamplePlugin):
        dead = False

        async def write(self, request: Request) -> Response:
            # The notes and the first check come through.
            self.dead = len(self.store.spaces) > 2
            return await super().write(request)

    plugin = Dies(Store())

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if plugin.dead:
            pass_time(60)
            await asyncio.Event().wait()
        await plugin.app(scope, receive, send)

    report = run(app, Settings(profile="core", timeout=60, parallel=4))
    assert (report.verdict, report.exit_code) == ("unreachable", 3)
    assert report.counts["error"] > 50


def test_a_bug_in_the_harness_is_an_error_and_not_a_failure_of_the_plugin() -> None:
    async def scenario() -> str:
        async with open_session(ExamplePlugin(Store()).app, Settings()) as session:
            check = find_check("forget.twice")
            assert check is not None

            async def broken(_: object) -> None:
                raise ZeroDivisionError("our own")

            result = await session.attempt(type(check)(**{**vars(check), "function": broken}))
            assert result.message is not None
            assert "our own" in result.message
            return result.outcome

    assert asyncio.run(scenario()) == "error"


def test_reporters_get_all_events_in_order() -> None:
    events: list[Event] = []
    report = run(ExamplePlugin(Store()).app, Settings(only=("forget",)), reporters=[events.append])
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].report == report
    finished = [event.result for event in events if isinstance(event, CheckFinished)]
    assert sorted(result.id for result in finished) == sorted(r.id for r in report.results)


def test_a_baseline_names_the_regressions() -> None:
    class Keeps(Store):
        def forget(self, key: UUID, requested_by: str) -> None:
            pass

    good = report_on(ExamplePlugin(Store()), only=("forget.twice", "health"))
    bad = run(ExamplePlugin(Keeps()).app, Settings(only=("forget.twice", "health")), baseline=good)
    assert bad.baseline is not None
    assert bad.baseline.run == good.run
    assert bad.baseline.regressions == ["forget.twice"]


def test_the_seed_is_in_the_report_and_repeats_the_ids() -> None:
    seen: list[str | None] = []

    class Notes(Store):
        def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
            if not name.endswith("runs") and body.id is not None:
                seen.append(str(body.id))
            return super().write(name, body)

    only = ("idempotency.answers-the-given-id",)
    reports = [report_on(ExamplePlugin(Notes()), only=only, seed=seed) for seed in (7, 7, 8)]
    assert [report.seed for report in reports] == [7, 7, 8]
    assert seen[0] == seen[1] != seen[2]


def test_the_seed_repeats_the_generated_cases() -> None:
    sent: list[list[str]] = []

    class Listening(ExamplePlugin):
        async def write(self, request: Request) -> Response:
            if not request.path_params["name"].endswith("runs"):
                sent[-1].append((await request.body()).decode(errors="replace"))
            return await super().write(request)

    for seed in (7, 7, 8):
        sent.append([])
        report_on(Listening(Store()), only=("generated.fuzzing",), seed=seed)
    assert len(sent[0]) > 5
    assert sent[0] == sent[1] != sent[2]


def test_an_application_without_health_is_not_a_plugin() -> None:
    async def nothing(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"<html>not here</html>"})

    with pytest.raises(Unreachable, match="not a memory plugin"):
        run(nothing)


def test_the_exception_of_an_application_is_reported_instead_of_its_address() -> None:
    class NoStore(ExamplePlugin):
        async def health(self, request: Request) -> Response:  # noqa: ARG002 (it is the signature)
            raise RuntimeError("the pool was never opened")

    async def bare(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001 (likewise)
        raise KeyError("DATABASE_URL")

    for app, raised in (
        (NoStore(Store()).app, "RuntimeError: the pool was never opened"),
        (bare, "KeyError: 'DATABASE_URL'"),
    ):
        with pytest.raises(Unreachable) as refused:
            run(app)
        assert str(refused.value).endswith(f" broke on GET /v1/health: {raised}")


@pytest.mark.parametrize(("status", "outcome"), [(413, "warn"), (400, "fail")])
def test_a_limit_on_content_is_a_warning_that_names_it(status: int, outcome: str) -> None:
    class UpTo(Store):
        def write(self, name: str, body: MemoryWrite) -> MemoryWriteResponse:
            if len(body.content) > 900 * 1024:
                raise BadRequest("body: too large", status=413)
            if len(body.content) > 300 * 1024:
                raise BadRequest("content: too long", status=status)
            return super().write(name, body)

    report = report_on(ExamplePlugin(UpTo()), only=("content.long",))
    [found] = [result for result in report.results if result.id == "content.long"]
    assert found.outcome == outcome
    if outcome == "warn":
        assert found.message is not None
        assert "more than 300 KiB is refused with 413;" in found.message


def test_an_application_is_started_and_stopped() -> None:
    calls: list[str] = []
    plugin = ExamplePlugin(Store())

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await plugin.app(scope, receive, send)
            return
        for name in ("startup", "shutdown"):
            assert (await receive())["type"] == f"lifespan.{name}"
            calls.append(name)
            await send({"type": f"lifespan.{name}.complete"})

    assert run(app, Settings(only=("health",))).counts["fail"] == 0
    assert calls == ["startup", "shutdown"]


@pytest.mark.anyio
@pytest.mark.parametrize("part", ["concurrency", "generated"])
async def test_a_run_that_is_cut_short_cleans_up(part: str) -> None:
    busy = asyncio.Event()

    class Noticing(Store):
        puts = 0

        def put_namespace(self, name: str, body: NamespaceUpsert) -> Namespace:
            self.puts += 1
            if self.puts > 15:
                busy.set()
            return super().put_namespace(name, body)

    store = Noticing()
    task = asyncio.create_task(run_async(ExamplePlugin(store).app, Settings(only=(part,))))
    await busy.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert store.spaces == {}


def test_a_failure_shows_both_sides() -> None:
    assert str(Failure("a pony", "a bill")) == "expected a pony, got a bill"
