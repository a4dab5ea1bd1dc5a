"""The benchmarks run: a real server, a real plugin, load over HTTP and pgbench."""

import pytest

from bench import load, newest, resident
from bench.measure import take_turns
from bench.stage import stage
from tests.timeouts import ENVIRONMENT


@pytest.mark.parametrize("generator", ["wrk", "own"])
def test_a_measure_runs_on_few_rows(generator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if generator == "own" or load._WRK is None:
        monkeypatch.setattr(load, "_WRK", None)
    for name, seconds in ENVIRONMENT.items():
        monkeypatch.setenv(name, seconds)
    told: list[str] = []
    with stage(seconds=1, quick=True) as prepared:
        results = [take_turns(measure, 1, told.append) for measure in newest.measures(prepared)]
        results += [take_turns(measure, 1, told.append) for measure in resident.measures(prepared)]
    speed, memory = results
    assert speed.median("plugin") > 0
    assert speed.median("pgbench") > 0
    assert (speed.detail("plugin", "p99") or 0) >= (speed.detail("plugin", "p50") or 0) > 0
    assert (speed.detail("plugin", "plugin_us") or 0) > 0
    assert (speed.detail("plugin", "postgres_us") or 0) > 0
    assert memory.median("plugin") > 1
    assert len(told) == 4
