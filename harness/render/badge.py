"""An SVG badge for a README: the verdict and the profile that it holds for."""

from xml.etree.ElementTree import Element, tostring

from harness.render.markup import element
from harness.report import Report, Verdict

_LABEL = "memory plugin"
# White text on each has a contrast of 4.5 or more.
_COLOURS: dict[Verdict, str] = {
    "conformant": "#1f7a3d",
    "not conformant": "#b3261e",
    "partial": "#8a5a00",
    "unreachable": "#5b6270",
}
_LABEL_COLOUR = "#3f444d"
_HEIGHT = 20
_PADDING = 6
_NARROW, _WIDE = "fijlrt .-", "mw"


def to_badge(report: Report) -> str:
    """A flat badge that says, for example, `memory plugin | conformant · full`."""
    message = f"{report.verdict} · {report.profile}"
    left, right = _width(_LABEL), _width(message)
    name = f"{_LABEL}: {message}"
    svg = element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "width": str(left + right),
            "height": str(_HEIGHT),
            "role": "img",
            "aria-label": name,
        },
        element("title", {}, name),
        element(
            "clipPath",
            {"id": "round"},
            element("rect", {"width": str(left + right), "height": str(_HEIGHT), "rx": "3"}),
        ),
        element(
            "g",
            {"clip-path": "url(#round)"},
            _box(0, left, _LABEL_COLOUR),
            _box(left, right, _COLOURS[report.verdict]),
        ),
        element(
            "g",
            {
                "fill": "#fff",
                "text-anchor": "middle",
                "font-family": "Verdana,Geneva,DejaVu Sans,sans-serif",
                "font-size": "11",
            },
            _text(0, left, _LABEL),
            _text(left, right, message),
        ),
    )
    return tostring(svg, encoding="unicode") + "\n"


def _box(x: int, width: int, colour: str) -> Element:
    return element(
        "rect", {"x": str(x), "width": str(width), "height": str(_HEIGHT), "fill": colour}
    )


def _text(x: int, width: int, text: str) -> Element:
    """Text that is fitted to its box, whatever font the reader has."""
    return element(
        "text",
        {"x": str(x + width / 2), "y": "14", "textLength": str(width - 2 * _PADDING)},
        text,
    )


def _width(text: str) -> int:
    """The approximate width of the text in 11 px Verdana, with padding."""
    widths = (4.5 if char in _NARROW else 10.0 if char in _WIDE else 7.0 for char in text)
    return round(sum(widths)) + 2 * _PADDING
