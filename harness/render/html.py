"""One HTML page for people: no external resources, readable without scripts and on a phone.

Its content security policy allows only its own script and style, by hash: even if a plugin's answer
became markup, it could not run.
"""

import base64
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

from harness.render.markup import element
from harness.report import Outcome, Report, Result, Verdict

_STYLE = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
_SCRIPT = Path(__file__).with_name("report.js").read_text(encoding="utf-8")

# What needs the reader's attention comes first.
_HEADINGS: dict[Outcome, str] = {
    "fail": "Failed",
    "blocked": "Blocked by a failure",
    "error": "Not judged",
    "warn": "Warned",
    "excluded": "Excluded",
    "unsupported": "Not supported",
    "pass": "Passed",
}
_MARKS: dict[Verdict, str] = {
    "conformant": "M4 12.5l5.5 5.5L20.5 6.5",
    "not conformant": "M5.5 5.5l13 13M18.5 5.5l-13 13",
    "partial": "M4 12h16",
    "unreachable": "M12 4v10M12 19.5v.5",
}


def to_html(report: Report) -> str:
    """The report as a single file to open, mail or publish."""
    body = element(
        "body",
        {"class": report.verdict.replace(" ", "-")},
        _band(report),
        element(
            "main",
            {"class": "page"},
            _spectrum(report),
            _facts(report),
            _notes(report),
            _areas(report),
            _filter(report),
            element("p", {"class": "nothing", "hidden": ""}, "No check matches the filter."),
            _groups(report),
        ),
        _footer(report),
        element("script", {}, _SCRIPT),
    )
    page = element("html", {"lang": "en"}, _head(report), body)
    return f"<!DOCTYPE html>\n{tostring(page, encoding='unicode', method='html')}\n"


def _head(report: Report) -> Element:
    policy = (
        f"default-src 'none'; script-src '{_hash(_SCRIPT)}'; style-src '{_hash(_STYLE)}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        {},
        element("meta", {"charset": "utf-8"}),
        element("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "referrer", "content": "no-referrer"}),
        element("title", {}, f"{report.verdict.capitalize()}: {report.plugin.url}"),
        element("link", {"rel": "icon", "href": "data:,"}),
        element("style", {}, _STYLE),
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


def _band(report: Report) -> Element:
    mark = element(
        "svg",
        {"viewBox": "0 0 24 24", "aria-hidden": "true"},
        element(
            "path",
            {
                "d": _MARKS[report.verdict],
                "fill": "none",
                "stroke": "currentColor",
                "stroke-width": "3",
                "stroke-linecap": "round",
                "stroke-linejoin": "round",
            },
        ),
    )
    return element(
        "header",
        {"class": "band"},
        element(
            "div",
            {"class": "page"},
            element(
                "p",
                {"class": "kicker"},
                f"Memory plugin contract {report.contract_version}, profile {report.profile}",
            ),
            element("h1", {}, mark, element("span", {}, report.verdict.capitalize())),
            element("p", {"class": "reason"}, report.reason),
            element("p", {"class": "subject"}, element("code", {}, report.plugin.url)),
        ),
    )


def _spectrum(report: Report) -> Element:
    counts = [
        element(
            "li", {"class": outcome}, element("b", {"class": "outcome"}, str(count)), f" {name}"
        )
        for outcome, name, count in _present(report.results)
    ]
    return element("div", {"class": "spectrum"}, _bar(report.results), element("ul", {}, counts))


def _present(results: Sequence[Result]) -> list[tuple[Outcome, str, int]]:
    """The outcomes that occur, with their display names and how often."""
    counted = (
        (outcome, heading, sum(result.outcome == outcome for result in results))
        for outcome, heading in _HEADINGS.items()
    )
    return [(outcome, heading.lower(), count) for outcome, heading, count in counted if count]


def _bar(results: Sequence[Result]) -> Element:
    parts: list[Element] = []
    place = 0
    for outcome, _, count in _present(results):
        box = {"class": outcome, "x": str(place), "width": str(count), "height": "1"}
        parts.append(element("rect", box))
        place += count
    frame = {
        "class": "bar",
        "viewBox": f"0 0 {max(place, 1)} 1",
        "preserveAspectRatio": "none",
        "aria-hidden": "true",
    }
    return element("svg", frame, parts)


def _facts(report: Report) -> Element:
    plugin = report.plugin
    facts = [
        ("Plugin speaks", plugin.version or "unknown"),
        ("Capabilities", ", ".join(plugin.capabilities) or "none"),
        ("Extensions", ", ".join(plugin.extensions) or "none"),
        ("Server", plugin.server or "not said"),
        ("Started", report.started_at.strftime("%Y-%m-%d %H:%M %Z")),
        ("Duration", f"{report.duration_seconds:.1f} s"),
        ("Seed", str(report.seed)),
        ("Run", report.run),
        ("Harness", report.harness_version),
    ]
    cells = [
        element("div", {}, element("dt", {}, name), element("dd", {}, value))
        for name, value in facts
    ]
    document = element("code", {}, report.openapi_sha256)
    cells.append(
        element(
            "div",
            {"class": "wide"},
            element("dt", {}, "OpenAPI document, SHA-256"),
            element("dd", {}, document),
        )
    )
    return element("dl", {"class": "facts"}, cells)


def _notes(report: Report) -> Iterable[Element]:
    if report.baseline is not None:
        earlier = report.baseline
        yield _note(
            f"Since run {earlier.run} ({earlier.verdict})",
            [
                f"{len(ids)} {word}: {', '.join(ids)}"
                for word, ids in (
                    ("got worse", earlier.regressions),
                    ("fixed", earlier.fixed),
                    ("new", earlier.added),
                    ("gone", earlier.removed),
                )
                if ids
            ]
            or ["No check changed."],
        )
    if report.left_behind:
        yield _note("Could not be deleted", report.left_behind)


def _note(title: str, lines: Iterable[str]) -> Element:
    items = [element("li", {}, line) for line in lines]
    return element("section", {"class": "note"}, element("h2", {}, title), element("ul", {}, items))


def _areas(report: Report) -> Element:
    areas = report.by_area()
    rows = [
        element(
            "tr",
            {},
            element("th", {"scope": "row"}, area),
            element("td", {}, _bar(results)),
            element("td", {"class": "figure"}, _passed(results)),
            element("td", {"class": "figure"}, f"{_slowest(results):.1f} s"),
        )
        for area, results in areas.items()
    ]
    titles = ("Area", "Outcomes", "Passed", "Slowest")
    head = element("tr", {}, [element("th", {"scope": "col"}, title) for title in titles])
    for cell in head[2:]:
        cell.set("class", "figure")
    return element(
        "details",
        {"class": "areas"},
        element("summary", {}, f"By area ({len(areas)})"),
        element("table", {}, element("thead", {}, head), element("tbody", {}, rows)),
    )


def _passed(results: Sequence[Result]) -> str:
    return f"{sum(result.outcome == 'pass' for result in results)} of {len(results)}"


def _slowest(results: Sequence[Result]) -> float:
    return max(result.duration_seconds for result in results)


def _filter(report: Report) -> Element:
    """Hidden until the script shows it, because it needs the script."""
    present = _present(report.results)
    outcomes = [_chip("", "All", len(report.results), checked=True)]
    outcomes += [_chip(outcome, name.capitalize(), count) for outcome, name, count in present]
    areas = [element("option", {"value": area}, area) for area in report.by_area()]
    return element(
        "form",
        {"class": "filter", "role": "search", "hidden": ""},
        element("fieldset", {}, element("legend", {}, "Outcome"), outcomes),
        element(
            "select",
            {"name": "area", "aria-label": "Area"},
            element("option", {"value": ""}, "All areas"),
            areas,
        ),
        element(
            "input",
            {
                "type": "search",
                "name": "text",
                "aria-label": "Text",
                "placeholder": "Find in checks",
                "autocomplete": "off",
            },
        ),
        element(
            "div",
            {"class": "tools"},
            element("output", {"class": "shown", "role": "status"}),
            element("button", {"type": "button", "data-open": ""}, "Expand all"),
            element("button", {"type": "button", "data-close": ""}, "Collapse all"),
            element("button", {"type": "reset"}, "Reset"),
        ),
    )


def _chip(value: str, name: str, count: int, *, checked: bool = False) -> Element:
    state = {"checked": ""} if checked else {}
    radio = {"type": "radio", "name": "outcome", "value": value} | state
    label = element("span", {}, f"{name} {count}")
    return element("label", {"class": "chip"}, element("input", radio), label)


def _groups(report: Report) -> Iterable[Element]:
    for outcome, name, count in _present(report.results):
        results = report.failures() if outcome == "fail" else report.results
        checks = [_check(result, report) for result in results if result.outcome == outcome]
        heading = element("h2", {}, name.capitalize(), element("span", {}, str(count)))
        yield element("section", {"class": "group"}, heading, checks)


def _check(result: Result, report: Report) -> Element:
    area, _, name = result.id.partition(".")
    aside = element("span", {"class": "aside"})
    aside.append(element("span", {"class": "outcome"}, result.outcome))
    aside[0].tail = f" · {result.duration_seconds:.2f} s"
    attributes = {
        "class": f"check {result.outcome}",
        "id": result.id,
        "data-outcome": result.outcome,
        "data-area": result.area,
    }
    if result.outcome in ("fail", "error"):
        attributes["open"] = ""
    return element(
        "details",
        attributes,
        element(
            "summary",
            {},
            element("code", {"class": "id"}, element("span", {"class": "area"}, f"{area}."), name),
            aside,
        ),
        element("div", {"class": "body"}, _body(result, report)),
    )


def _body(result: Result, report: Report) -> Iterable[Element]:
    yield element("blockquote", {"class": "sentence"}, *_prose(result.sentence))
    if blocked := report.blocked_by(result.id):
        yield element("p", {"class": "why"}, f"Blocks {len(blocked)}: {', '.join(blocked)}.")
    if result.message:
        yield element("p", {"class": "why"}, result.message)
    evidence = [
        element(
            "div",
            {"class": label},
            element("dt", {}, label.capitalize()),
            element("dd", {}, element("pre", {}, text)),
        )
        for label, text in (("expected", result.expected), ("got", result.got))
        if text is not None
    ]
    if evidence:
        yield element("dl", {"class": "evidence both" if evidence[1:] else "evidence"}, evidence)
    if result.curl:
        copy = element("button", {"type": "button", "class": "copy", "hidden": ""}, "Copy")
        yield element(
            "figure",
            {"class": "repeat"},
            element("figcaption", {}, element("span", {}, "Repeat it with"), copy),
            element("pre", {}, [element("code", {}, f"{line}\n") for line in result.curl]),
        )
    needs = f"needs {', '.join(result.needs)} · " if result.needs else ""
    link = element("a", {"href": f"#{result.id}"}, "link to this check")
    yield element("p", {"class": "small"}, f"{result.level} · {needs}", link)


def _prose(text: str) -> Iterable[Element | str]:
    """One of our sentences, with text in backticks as code."""
    for place, part in enumerate(text.split("`")):
        yield element("code", {}, part) if place % 2 else part


def _footer(report: Report) -> Element:
    command = f"memory-harness run URL --profile {report.profile} --seed {report.seed}"
    return element(
        "footer",
        {"class": "page"},
        element("p", {}, "Run it again with the same generated cases:"),
        element("pre", {}, element("code", {}, command)),
    )
