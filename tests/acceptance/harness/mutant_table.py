"""Which mutants each check kills, as a page for people."""

from pathlib import Path

from harness import all_checks
from tests.acceptance.harness.mutants import all_mutants
from tests.acceptance.harness.unkilled import REASONS

TABLE = Path(__file__).with_name("mutants.md")


def table() -> str:
    """The page, in Markdown."""
    mutants = all_mutants()
    lines = [
        "# What each check has been shown to find",
        "",
        f"{len(mutants)} broken plugins, {len(all_checks())} checks.",
        "Each mutant is the in-memory example with one fault;",
        "CI fails when one survives a check that it names.",
        "",
        "| check | kills |",
        "|---|---|",
    ]
    for check in all_checks():
        killed = [mutant.name for mutant in mutants if check.id in mutant.killed_by]
        lines.append(f"| `{check.id}` | {', '.join(killed) or REASONS.get(check.id, '')} |")
    lines += ["", "| mutant | its fault |", "|---|---|"]
    lines += [f"| {mutant.name} | {mutant.fault} |" for mutant in mutants]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TABLE.write_text(table())
