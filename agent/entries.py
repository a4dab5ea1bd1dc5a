"""The entries of a curated file. A change leaves all others as they are, to the byte."""

import re
from collections.abc import Sequence

SEPARATOR = "§"
# Some editors start a file with it; it is not part of an entry.
_MARK = "\ufeff"
_LINE = re.compile(rf"(^[^\S\n]*{SEPARATOR}[^\S\n]*(?:\n|\Z))", re.MULTILINE)


def split(text: str) -> list[str]:
    """The entries, without the blank lines around them."""
    parts = _parts(text)
    return [parts[at].strip() for at in _filled(parts)]


def join(entries: Sequence[str]) -> str:
    return f"\n{SEPARATOR}\n".join(entries)


def added(text: str, entry: str) -> str:
    """The text with another entry at its end."""
    if not split(text):
        return entry
    before = text if text.endswith("\n") else f"{text}\n"
    ends_with_separator = not _parts(text)[-1].strip()
    return f"{before}{entry}" if ends_with_separator else f"{before}{SEPARATOR}\n{entry}"


def replaced(text: str, number: int, entry: str) -> str:
    """The text with another entry in the place of this one."""
    parts = _parts(text)
    at = _filled(parts)[number]
    part = parts[at]
    blank = len(part) - len(part.lstrip())
    parts[at] = part[:blank] + entry + part[blank + len(part.strip()) :]
    return _mark(text) + "".join(parts)


def removed(text: str, number: int) -> str:
    """The text without this entry and one of the separators next to it."""
    parts = _parts(text)
    at = _filled(parts)[number]
    if len(_filled(parts)) == 1:
        return ""
    if at + 1 < len(parts):
        del parts[at : at + 2]
        return _mark(text) + "".join(parts)
    before = "".join(parts[: at - 1])
    return _mark(text) + (before if text.endswith("\n") else before.removesuffix("\n"))


def _mark(text: str) -> str:
    return _MARK if text.startswith(_MARK) else ""


def _parts(text: str) -> list[str]:
    """What is between the separators, and at odd places the separators."""
    return _LINE.split(text.removeprefix(_MARK))


def _filled(parts: Sequence[str]) -> list[int]:
    """The places of the entries."""
    return [at for at in range(0, len(parts), 2) if parts[at].strip()]
