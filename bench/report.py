"""The results as a table on the screen, as JSON for machines and as Markdown for the docs."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from bench.measure import Result, confidence


def as_json(results: Sequence[Result], machine: dict[str, object]) -> str:
    """Everything that was measured, round by round."""
    document = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine,
        "measures": [
            {
                "name": result.measure.name,
                "title": result.measure.title,
                "unit": result.measure.unit,
                "contestants": {
                    name: {
                        "median": result.median(name),
                        "spread": result.spread(name),
                        "samples": [
                            {"value": sample.value, **sample.details} for sample in samples
                        ],
                    }
                    for name, samples in result.samples.items()
                },
                "ratio": result.ratio,
                "ratios": result.ratios,
                "interval": result.interval,
                "must": result.measure.must,
                "aim": result.measure.aim,
                "at_most": result.measure.at_most,
                "verdict": result.verdict,
            }
            for result in results
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def rows(results: Sequence[Result]) -> list[list[str]]:
    """The table: work, ours, the other, their ratio, the target, the verdict."""
    return [
        [
            result.measure.title,
            *_contestants(result),
            _ratio(result),
            _target(result),
            result.verdict,
        ]
        for result in results
    ]


_WIDTH = 150
HEADINGS = ["Work", "Measured", "Compared with", "Ratio", "Target", "Verdict"]


def as_markdown(group: str, results: Sequence[Result], machine: dict[str, object]) -> str:
    """The same table for the docs, with the machine it was measured on."""
    measured = (
        f"**{group.capitalize()}**, measured on {datetime.now(UTC):%Y-%m-%d} on"
        f" {machine['cores']} cores with {machine['memory_gib']} GiB of memory, Python"
        f" {machine['python']}, embedded PostgreSQL with fsync on, load from"
        f" {machine['generator']}, {machine['repeats']} rounds of {machine['seconds']} s. Each"
        " figure is the median, with the distance between the extremes in parentheses. The range"
        f" after a ratio is its {confidence(int(str(machine['repeats']))):.0%} confidence interval."
    )
    lines = [
        measured,
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * len(HEADINGS),
    ]
    lines += ["| " + " | ".join(row) + " |" for row in rows(results)]
    lines += [
        "",
        *(f"- {result.measure.title}: {note}." for result in results for note in _notes(result)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def show(results: Sequence[Result]) -> None:
    table = Table(*HEADINGS, title="memory-plugins benchmarks")
    for row in rows(results):
        colour = {"reached": "green", "missed": "red", "too noisy to tell": "yellow"}.get(row[-1])
        table.add_row(*row, style=colour)
    console = Console()
    Console(width=max(console.width, _WIDTH)).print(table)


def write(
    folder: Path, group: str, results: Sequence[Result], machine: dict[str, object]
) -> tuple[Path, Path]:
    """Write the results of a group, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    data, page = folder / f"{group}.json", folder / f"{group}.md"
    data.write_text(as_json(results, machine), "utf-8")
    page.write_text(as_markdown(group, results, machine), "utf-8")
    return data, page


def _contestants(result: Result) -> list[str]:
    cells = [
        f"{name} {_number(result.median(name))} {result.measure.unit} (±{result.spread(name):.0%})"
        for name in list(result.samples)[:2]
    ]
    return [*cells, ""][:2]


def _notes(result: Result) -> list[str]:
    """Notes that explain a figure: known differences, and processor time."""
    first, *others = result.samples
    known = [
        f"{median(result.ratios_to(other)):.3g} × as fast as {other}" for other in others[1:]
    ] + ([result.measure.note] if result.measure.note else [])
    plugin, postgres = result.detail(first, "plugin_us"), result.detail(first, "postgres_us")
    if plugin is None or postgres is None:
        return known
    spent = f"a request takes {_number(plugin)} µs of processor time in our processes"
    later = result.detail(first, "later_us")
    afterwards = "" if later is None else f", and {_number(later)} µs afterwards to index the words"
    return [*known, f"{spent} and {_number(postgres)} µs in PostgreSQL{afterwards}"]


def _ratio(result: Result) -> str:
    if len(result.samples) < 2:
        return _number(result.ratio)
    low, high = result.interval
    return f"{result.ratio:.2f} × ({low:.2f}–{high:.2f})"


def _target(result: Result) -> str:
    if result.measure.must is None:
        return ""
    sign = "≤" if result.measure.at_most else "≥"
    aim = "" if result.measure.aim is None else f", aim {result.measure.aim:g}"
    return f"{sign} {result.measure.must:g}{aim}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
