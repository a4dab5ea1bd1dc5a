"""`make figures`: copy the last results of `make bench` into the docs, group by group.

This is the only way figures get into a page. Nobody types one by hand.
"""

import re
import shutil
import sys
from pathlib import Path

from bench.catalog import CATALOG

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
KEPT = ROOT / "docs" / "memory-plugins" / "figures"
OPERATING = ROOT / "docs" / "memory-plugins" / "operating.md"

_PLACE = re.compile(r"(<!-- bench:[^>]* -->\n)(.*?)(<!-- /bench -->)", re.DOTALL)


def kept() -> list[str]:
    """The groups that were measured; each may be from another run."""
    return [group for group in CATALOG if (KEPT / f"{group}.json").exists()]


def whole_table() -> str:
    """Everything that was measured, with the machine, for operating.md."""
    groups = kept()
    text = "\n".join((KEPT / f"{group}.md").read_text("utf-8") for group in groups)
    links = ", ".join(f"[{it}](figures/{it}.md) ([JSON](figures/{it}.json))" for it in groups)
    text += f"\nEach table by itself, and as JSON with every round: {links}.\n"
    if (KEPT / "growth.svg").exists():
        text += "\n![p50 and p99 over the number of memories](figures/growth.svg)\n"
    return text


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
    measured = [path for path in RESULTS.glob("*.*") if path.stem in CATALOG]
    if not measured:
        sys.exit("there are no results; run `make bench` first")
    KEPT.mkdir(exist_ok=True)
    for path in measured:
        shutil.copyfile(path, KEPT / path.name)
    fill(OPERATING, whole_table())


if __name__ == "__main__":
    main()
