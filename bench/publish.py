"""`make figures`: copy the last results of `make bench` into the docs.

This is the only way figures get into a page. Nobody types one by hand.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
KEPT = ROOT / "docs" / "memory-plugins" / "figures"
OPERATING = ROOT / "docs" / "memory-plugins" / "operating.md"

_PLACE = re.compile(r"(<!-- bench:[^>]* -->\n)(.*?)(<!-- /bench -->)", re.DOTALL)


def whole_table() -> str:
    """Everything that was measured, with the machine, for operating.md."""
    table = (KEPT / "bench.md").read_text("utf-8")
    table += "\nThe same [by itself](figures/bench.md) and [as JSON](figures/bench.json).\n"
    if (KEPT / "growth.svg").exists():
        table += "\n![p50 and p99 over the number of memories](figures/growth.svg)\n"
    return table


def places(text: str) -> list[re.Match[str]]:
    """Where figures go: the opening mark, the current text, the closing mark."""
    return list(_PLACE.finditer(text))


def fill(page: Path, table: str) -> None:
    """Replace the text between the marks of a page."""
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


if __name__ == "__main__":
    main()
