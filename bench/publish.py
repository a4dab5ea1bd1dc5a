"""`make figures`: put the last results of `make bench` into the pages, and keep them beside.

Figures come from here only. Nobody types one into a page.
"""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
KEPT = ROOT / "docs" / "memory-plugins" / "figures"
OPERATING = ROOT / "docs" / "memory-plugins" / "operating.md"
README = ROOT / "README.md"

_PLACE = re.compile(r"(<!-- bench:[^>]* -->\n)(.*?)(<!-- /bench -->)", re.DOTALL)


def whole_table() -> str:
    """Everything that was measured, with the machine, for operating.md."""
    table = (KEPT / "bench.md").read_text("utf-8")
    table += "\nThe same [by itself](figures/bench.md) and [as JSON](figures/bench.json).\n"
    if (KEPT / "growth.svg").exists():
        table += "\n![p50 and p99 over the number of memories](figures/growth.svg)\n"
    return table


def short_table() -> str:
    """What has a target, for README.md."""
    results = json.loads((KEPT / "bench.json").read_text("utf-8"))
    machine = results["machine"]
    rows = [
        f"| {one['title']} | {result(one)} | {one['verdict']} |"
        for one in results["measures"]
        if one["must"] is not None
    ]
    where = f"On {machine['cores']} cores with {machine['memory_gib']} GiB, fsync on."
    return "\n".join([where, "", "| Work | Result | Verdict |", "|---|---|---|", *rows, ""])


def result(measure: dict[str, Any]) -> str:
    """With its direction if it is a ratio, else with its unit."""
    figure, unit = measure["ratio"], measure["unit"]
    against = list(measure["contestants"])[1:2]
    if against:
        # What must stay below something is a duration or a size; all other ratios count speed.
        most = "as long as" if unit == "ms" else "as much as"
        direction = most if measure["at_most"] else "as fast as"
        return f"{figure:.{2 if figure < 10 else 1}f} × {direction} {against[0]}"
    return f"recall {figure:.3f}" if unit == "recall" else f"{figure:.3g} {unit}"


def places(text: str) -> list[re.Match[str]]:
    """Where figures go: the mark, what stands there now, the closing mark."""
    return list(_PLACE.finditer(text))


def fill(page: Path, table: str) -> None:
    """Replace what stands between the marks of a page."""
    text = page.read_text("utf-8")
    filled = _PLACE.sub(lambda found: f"{found[1]}{table}{found[3]}", text)
    if len(places(text)) != 1:
        sys.exit(f"{page.name} has {len(places(text))} places for the figures, expected one")
    page.write_text(filled, "utf-8")


def main() -> None:
    if not (RESULTS / "bench.json").exists():
        sys.exit("there are no results; run `make bench` first")
    KEPT.mkdir(exist_ok=True)
    for name in ("bench.json", "bench.md", "growth.svg"):
        if (RESULTS / name).exists():
            shutil.copyfile(RESULTS / name, KEPT / name)
    fill(OPERATING, whole_table())
    fill(README, short_table())


if __name__ == "__main__":
    main()
