"""Elements of HTML, SVG and XML that are safe whatever they contain.

A plugin's answer is untrusted input. A renderer never concatenates markup: it builds elements, and
text inside them cannot become markup, break the document or reverse the text around it.
"""

import re
from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element

# Control characters, lone surrogates and non-characters, which XML forbids; marks that reorder a
# line of text, which would show the reader something else.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufeff\ufffe\uffff]"
)


def printable(text: str) -> str:
    r"""The text with unprintable characters escaped as in JSON, `\u0000`."""
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def element(
    tag: str, attributes: Mapping[str, str], *children: "Element | str | Iterable[Element]"
) -> Element:
    """An element with its children in order; strings become text."""
    made = Element(tag, {name: printable(value) for name, value in attributes.items()})
    for child in children:
        if isinstance(child, str):
            _add_text(made, printable(child))
        elif isinstance(child, Element):
            made.append(child)
        else:
            made.extend(child)
    return made


def _add_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
