"""The formats of a report, each rendered from the JSON report alone.

`FORMATS` maps the command line's option, such as `--html`, to the function that renders it.
"""

from collections.abc import Callable

from harness.render.badge import to_badge
from harness.render.html import to_html
from harness.render.junit import to_junit
from harness.render.markdown import to_markdown
from harness.report import Report

Renderer = Callable[[Report], str]

FORMATS: dict[str, Renderer] = {
    "json": Report.to_json,
    "junit": to_junit,
    "html": to_html,
    "markdown": to_markdown,
    "badge": to_badge,
}
