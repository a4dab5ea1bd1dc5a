"""Markdown for a comment on a pull request.

Text from a plugin is formatted as code, so that it contains no markup and mentions nobody.
"""

import re
from collections.abc import Iterator

from harness.render.markup import printable
from harness.report import OUTCOMES, Report, Result

# GitHub refuses a comment of more than 65,536 characters.
_MOST_CHARACTERS = 60_000
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@&$-])")


def to_markdown(report: Report) -> str:
    """The verdict, a table by area, and each problem with the way to repeat it."""
    text = "\n\n".join([_headline(report), _table(report), *_notes(report)])
    problems = [*report.failures(), *(one for one in report.results if one.outcome == "warn")]
    facts = f"\n\n{_facts(report)}\n"
    for place, result in enumerate(problems):
        block = f"\n\n{_problem(result, report)}"
        if len(text) + len(block) + len(facts) > _MOST_CHARACTERS:
            text += f"\n\n{len(problems) - place} more are in the JSON report."
            break
        text += block
    return text + facts


def _headline(report: Report) -> str:
    verdict = report.verdict.capitalize()
    return f"## {verdict}: memory plugin, profile {report.profile}\n\n{_plain(report.reason)}"


def _table(report: Report) -> str:
    shown = [outcome for outcome in OUTCOMES if report.counts.get(outcome)]
    lines = [f"| area | {' | '.join(shown)} |", f"| --- |{' ---: |' * len(shown)}"]
    for area, results in report.by_area().items():
        counts = [sum(result.outcome == outcome for result in results) for outcome in shown]
        lines.append(f"| {area} | {' | '.join(str(count or '') for count in counts)} |")
    return "\n".join(lines)


def _notes(report: Report) -> Iterator[str]:
    if report.baseline is not None:
        earlier = f"run {_code(report.baseline.run)}, {report.baseline.verdict}"
        worse, better = report.baseline.regressions, report.baseline.fixed
        yield f"Since {earlier}: {_ids(worse, 'regression')}; {_ids(better, 'fixed')}."
    if report.left_behind:
        names = ", ".join(_code(name) for name in report.left_behind[:5])
        yield f"{len(report.left_behind)} namespaces could not be deleted, such as {names}."


def _ids(ids: list[str], word: str) -> str:
    listed = ", ".join(_code(check_id) for check_id in ids[:20])
    return f"{len(ids)} {word}" + (f" ({listed})" if listed else "")


def _problem(result: Result, report: Report) -> str:
    summary = f"<strong>{result.outcome}</strong> <code>{result.id}</code>"
    parts = [f"<details>\n<summary>{summary}</summary>", _plain(result.sentence)]
    for label, text in (
        ("Why", result.message),
        ("Expected", result.expected),
        ("Got", result.got),
    ):
        if text:
            parts.append(f"{label}:\n{_block(text)}")
    if blocked := report.blocked_by(result.id):
        parts.append(f"Blocks {len(blocked)}: {', '.join(_code(one) for one in blocked)}.")
    if result.curl:
        parts.append("Repeat it with:\n" + _block("\n".join(result.curl), "sh"))
    return "\n\n".join([*parts, "</details>"])


def _facts(report: Report) -> str:
    plugin = report.plugin
    offers = [*plugin.capabilities, *plugin.extensions]
    facts = [
        f"plugin {_code(plugin.url)}",
        f"contract {_code(plugin.version or 'unknown')}",
        f"server {_code(plugin.server)}" if plugin.server else "",
        f"offers {_code(', '.join(offers))}" if offers else "offers nothing optional",
        f"{report.duration_seconds:.1f} s",
        f"seed {report.seed}",
        f"run {_code(report.run)}",
        f"harness {report.harness_version}",
        f"OpenAPI {_code(report.openapi_sha256[:12])}",
    ]
    return f"<sub>{' · '.join(fact for fact in facts if fact)}</sub>"


def _plain(text: str) -> str:
    """Our own text, with its punctuation escaped."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def _code(text: str) -> str:
    """Inline code, even if it contains backticks."""
    line = " ".join(printable(text).split()) or "(blank)"
    fence = "`" * (_longest_run(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def _block(text: str, language: str = "text") -> str:
    """Lines of code, in a fence that nothing inside can close."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{printable(text)}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
