"""The growth of latency as an SVG for any browser, in light and dark mode."""

import math
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from bench.measure import Result

_WIDTH, _HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 210, 44, 52
_COLOURS = ("#2563eb", "#d97706", "#059669", "#9333ea")
_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #334155; }
.title { font-size: 15px; font-weight: 600; }
.axis { stroke: #94a3b8; } .grid { stroke: #cbd5e1; stroke-width: 0.5; }
@media (prefers-color-scheme: dark) { text { fill: #cbd5e1; } .grid { stroke: #475569; } }
"""


def write(folder: Path, results: Sequence[Result]) -> None:
    """Write growth.svg, if growth was measured."""
    grown = [result for result in results if result.measure.name.startswith("growth: ")]
    if grown:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "growth.svg").write_text(draw(grown), "utf-8")


def draw(results: Sequence[Result]) -> str:
    """p50 as a line and p99 as a dashed one for each kind of search, both axes logarithmic."""
    series: list[tuple[str, list[tuple[float, float]]]] = []
    for result in results:
        kind = result.measure.name.removeprefix("growth: ")
        sizes = sorted(result.samples, key=_size)
        series.append((f"{kind}, p50", [(_size(s), result.median(s)) for s in sizes]))
        points = [(_size(s), result.detail(s, "p99") or 0.0) for s in sizes]
        series.append((f"{kind}, p99", points))
    xs = [x for _, points in series for x, _ in points]
    ys = [y for _, points in series for _, y in points if y > 0]
    low, high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
    high = max(high, low + 1)

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - math.log10(min(xs))) / (math.log10(max(xs) / min(xs)) or 1)
        up = (math.log10(max(y, 10**low)) - low) / (high - low)
        width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        return _LEFT + across * width, _TOP + (1 - up) * height

    parts = [_frame("Latency of searches over 3 of 200 namespaces, 32 connections")]
    for exponent in range(low, high + 1):
        left, y = place(min(xs), 10**exponent)
        right, _ = place(max(xs), 10**exponent)
        parts.append(
            f'<line class="grid" x1="{left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(_text(left - 8, y + 4, f"{10.0**exponent:g} ms", "end"))
    for x in sorted(set(xs)):
        across, bottom = place(x, 10**low)
        parts.append(_text(across, bottom + 20, f"{x:,.0f}", "middle"))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 10, "memories", "middle"))
    for number, (name, points) in enumerate(series):
        colour, dashed = _COLOURS[number // 2 % len(_COLOURS)], number % 2 == 1
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        line = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in points)
        style = f'fill="none" stroke="{colour}" stroke-width="2"{dash}'
        parts.append(f'<polyline points="{line}" {style}/>')
        y = _TOP + 12 + number * 20
        left = _WIDTH - _RIGHT + 20
        parts.append(f'<line x1="{left}" x2="{left + 24}" y1="{y}" y2="{y}" {style}/>')
        parts.append(_text(left + 32, y + 4, name, "start"))
    parts.append("</svg>\n")
    return "\n".join(parts)


def _size(name: str) -> float:
    return float(name.replace(",", ""))


def _frame(title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{escape(title)}"><style>{_STYLE}</style>\n'
        + _text(_LEFT, 24, title, "start", "title")
    )


def _text(x: float, y: float, text: str, anchor: str, kind: str = "label") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )
