"""The documentation pages, parsed: fences, headings, links, tables, inline code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[3]
_MARKDOWN = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Fence:
    """A fenced block. Words after the language say what the tests do with it:

    `file=NAME` is saved under that name where the page's commands run (`append` adds to it),
    `static` is checked but not run, because it needs something that tests do not have.
    """

    page: str
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def file(self) -> str | None:
        names = [word.removeprefix("file=") for word in self.words if word.startswith("file=")]
        return names[0] if names else None

    @property
    def static(self) -> bool:
        return "static" in self.words


@dataclass(frozen=True)
class Table:
    line: int
    head: list[str]
    rows: list[list[str]]

    def column(self, name: str) -> list[str]:
        at = self.head.index(name)
        return [row[at] for row in self.rows]


@dataclass(frozen=True)
class Page:
    path: Path
    fences: list[Fence] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    links: list[tuple[int, str]] = field(default_factory=list)
    code: list[tuple[int, str]] = field(default_factory=list)
    """Words set as code in running text and in tables."""

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    def table(self, *head: str) -> Table:
        """The one table with these column heads."""
        [found] = [table for table in self.tables if table.head == list(head)]
        return found


@cache
def pages() -> tuple[Page, ...]:
    """README.md and everything under docs/."""
    paths = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return tuple(_read(path) for path in paths if path.exists())


def page(name: str) -> Page:
    [found] = [page for page in pages() if page.name == name]
    return found


def fences(*languages: str) -> list[Fence]:
    return [fence for page in pages() for fence in page.fences if fence.language in languages]


def _read(path: Path) -> Page:
    page = Page(path)
    tokens = _MARKDOWN.parse(path.read_text())
    for at, token in enumerate(tokens):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "fence":
            language, *words = token.info.split() or [""]
            page.fences.append(Fence(page.name, line, language, tuple(words), token.content))
        elif token.type == "heading_open":
            page.anchors.add(_anchor(tokens[at + 1].content))
        elif token.type == "table_open":
            page.tables.append(_table(tokens[at:], line))
        for child in token.children or ():
            if child.type == "code_inline":
                page.code.append((line, child.content))
            elif child.type in ("link_open", "image"):
                page.links.append((line, str(child.attrs.get("href") or child.attrs.get("src"))))
    return page


def _anchor(heading: str) -> str:
    """Anchors as GitHub makes them."""
    kept = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
    return kept.replace(" ", "-")


def _table(tokens: list[Token], line: int) -> Table:
    rows = list(_rows(tokens))
    return Table(line, rows[0], rows[1:])


def _rows(tokens: list[Token]) -> Iterator[list[str]]:
    row: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type == "inline":
            row.append(token.content)
        elif token.type == "tr_close":
            yield row
        elif token.type == "table_close":
            return
