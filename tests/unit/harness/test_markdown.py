"""The Markdown report, as it appears under a pull request."""

from markdown_it import MarkdownIt
from markdown_it.token import Token

from harness.render.markdown import to_markdown
from harness.render.markup import printable
from harness.report import Report
from tests.unit.harness.reports import HOSTILE, a_hostile_report, a_report, a_result


def tokens(report: Report) -> list[Token]:
    """What a reader's browser is made to show, block by block and then inside each block."""
    blocks = MarkdownIt("commonmark").enable("table").parse(to_markdown(report))
    return [*blocks, *(child for block in blocks for child in block.children or [])]


def test_the_verdict_and_the_areas_come_first() -> None:
    text = to_markdown(a_report(a_result("a.a", "pass"), a_result("b.b", "warn")))
    assert text.startswith("## Conformant: memory plugin, profile full\n\nAll 2 checks")
    assert "| area | pass | warn |\n| --- | ---: | ---: |\n| a | 1 |  |\n| b |  | 1 |" in text


def test_a_failure_can_be_repeated_from_the_comment() -> None:
    report = a_report(a_result("a.a", "fail", expected="404", got="500", curl=["curl 1", "curl 2"]))
    fences = [token.content for token in tokens(report) if token.type == "fence"]
    assert fences == ["404\n", "500\n", "curl 1\ncurl 2\n"]


def test_what_a_plugin_says_is_only_ever_code() -> None:
    shown = tokens(a_hostile_report())
    html = "".join(token.content for token in shown if token.type in ("html_block", "html_inline"))
    text = "".join(token.content for token in shown if token.type == "text")
    assert "script" not in html + text
    assert "everyone" not in html + text
    assert "image" not in {token.type for token in shown}
    fences = [token.content for token in shown if token.type == "fence"]
    assert f"{printable(HOSTILE)}\n" in fences


def test_a_report_of_many_failures_still_fits_into_a_comment() -> None:
    results = [a_result(f"a.{number}", "fail", got="x" * 5_000) for number in range(100)]
    text = to_markdown(a_report(*results))
    assert len(text) < 65_536
    assert "89 more are in the JSON report." in text


def test_the_baseline_and_what_was_left_behind_are_named() -> None:
    text = to_markdown(a_hostile_report())
    assert "1 regression (`idempotency.same-id-updates-in-place`)" in text
    assert "`custom:conformance.0123456789ab.7`" in text
