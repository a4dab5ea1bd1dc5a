"""Plugins that differ where the contract allows it conform; few defects are reported as few."""

import pytest
from starlette.requests import Request
from starlette.responses import Response

from contract import CAPABILITIES, EXTENSIONS
from harness import Report, Settings, all_checks, run_async
from harness.example import ExamplePlugin, Store, create_app
from harness.report import compare
from harness.roots import declared_ids
from tests.acceptance.harness.mutants import edited
from tests.integration.harness import plugins

pytestmark = pytest.mark.anyio


def built(plugin: type[ExamplePlugin], store: Store | None = None) -> ExamplePlugin:
    return plugin(store or Store(), CAPABILITIES, EXTENSIONS)


def problems(report: Report) -> list[str]:
    return [f"{one.id}: {one.expected}, {one.got}" for one in report.failures()]


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 10))]
)
async def test_a_plugin_with_typed_numbers_passes_whatever_the_seed(seed: int) -> None:
    # The cases of the coverage do not depend on the seed.
    only = ("generated.fuzzing", *(("generated.coverage", "limits") if seed == 0 else ()))
    settings = Settings(only=only, seed=seed)
    report = await run_async(built(plugins.TypedNumbers).app, settings)
    assert problems(report) == []


async def test_a_plugin_with_one_dimension_is_detected_and_tested_with_it() -> None:
    only = ("embedding", "hybrid", "pin", "consistency", "ttl.in-embedding-search", "negotiation")
    report = await run_async(built(plugins.OneDimension).app, Settings(only=only))
    assert problems(report) == []
    [mixed] = [one for one in report.results if one.id == "embedding.mixed-dimensions"]
    assert mixed.outcome == "warn"
    assert "8 numbers only" in str(mixed.message)


async def test_a_given_dimension_is_not_detected_again() -> None:
    settings = Settings(only=("embedding.nearest-first",), dimension=8)
    report = await run_async(built(plugins.OneDimension).app, settings)
    assert problems(report) == []


async def test_a_few_defects_are_reported_as_few_and_block_the_rest() -> None:
    exclude = ("generated", "operational")
    app = built(plugins.FourFaults, plugins.WipingStore()).app
    report = await run_async(app, Settings(exclude=exclude))
    roots = [one.id for one in report.failures()]
    expected = {
        "namespaces.put-keeps-what-is-absent",
        "search.empty-is-a-list",
        "writes.unknown-namespace",
    }
    assert expected <= set(roots)
    assert len(roots) <= 8, roots
    assert report.counts["blocked"] >= 8
    for one in report.results:
        if one.outcome == "blocked":
            assert set(one.blocked_by) <= set(roots)
            assert one.blocked_by[0] in str(one.message)
    blocks = [len(report.blocked_by(name)) for name in roots]
    assert blocks == sorted(blocks, reverse=True)
    assert f"{roots[0]} (blocks {blocks[0]})" in report.reason


async def test_unknown_extensions_are_only_noted() -> None:
    class Tomorrow(ExamplePlugin):
        async def health(self, request: Request) -> Response:
            response = await super().health(request)
            return edited(response, lambda body: body | {"extensions": ["telepathy"]})

    report = await run_async(built(Tomorrow).app, Settings(only=("health", "generated.examples")))
    assert problems(report) == []
    [names] = [one for one in report.results if one.id == "health.names-are-words"]
    assert names.outcome == "pass"
    assert "telepathy" in str(names.message)


async def test_a_regression_since_the_baseline_changes_the_exit_code() -> None:
    settings = Settings(only=("health",))
    before = await run_async(create_app(), settings)
    conformant = before.model_copy(update={"verdict": "conformant"})
    assert conformant.exit_code == 0
    worse = [
        one.model_copy(update={"outcome": "warn"}) if one.id == "health.answers-ok" else one
        for one in before.results
    ]
    after = conformant.model_copy(update={"baseline": compare(worse, before), "results": worse})
    assert after.exit_code == 1


def test_every_check_that_blocks_or_is_blocked_exists() -> None:
    assert declared_ids() <= {check.id for check in all_checks()}
