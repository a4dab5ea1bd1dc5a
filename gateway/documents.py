"""Reads one file and prints its chunks: `python -m gateway.documents`, a separate process.

The file is the standard input; the argument is a JSON object with `format`, `charset` and `redact`.
It prints a JSON object with `chunks`, or with `error`, a sentence for the uploader. A file may be
hostile, so the process limits its own memory and time, and the caller kills it when time is up.
"""

import codecs
import csv
import ctypes
import io
import json
import re
import resource
import signal
import sys
import zipfile
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any, Final

from language.redaction import redact
from language.sentences import split_text

MAX_UNPACKED: Final = 32 * 2**20
MAX_SECONDS: Final = 30
LONGEST_CHUNK: Final = 2000
_MAX_MEMORY = 2**30
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG

_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_SKIPPED = frozenset({"script", "style", "template"})
_BLOCKS = re.compile(
    "address|article|aside|blockquote|body|br|caption|d[dlt]|details|div|fieldset|figcaption|figure|footer"
    "|form|h[1-6]|head|header|hr|legend|li|main|nav|ol|option|p|pre|section|summary|table|tbody|t[dhr]"
    "|tfoot|thead|title|ul"
)


class Unreadable(Exception):
    """The file cannot be read; the message is for its owner."""


class Blank(Unreadable):
    """A text file with nothing but white space."""


def chunks(file: bytes, kind: str, charset: str | None = None) -> list[str]:
    """The text of a file in parts of at most 2,000 characters; raises `Unreadable`."""
    return split_text(text_of(file, kind, charset), LONGEST_CHUNK)


def text_of(file: bytes, kind: str, charset: str | None = None) -> str:
    """The text of a file, never blank, without control characters."""
    text = _READERS[kind](file, charset)
    if len(text) > MAX_UNPACKED:
        raise _too_large()
    text = _NOT_TEXT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _BLANK_LINES.sub("\n\n", text).strip()
    if not text:
        raise Unreadable("The file has no text.")
    return text


def _read_text(file: bytes, charset: str | None) -> str:
    text = _decoded(file, charset)
    if not text.strip():
        raise Blank("The file is blank.")
    return text


def _decoded(file: bytes, charset: str | None) -> str:
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if file.startswith(mark):
            return _decode(file, encoding)
    if charset is not None:
        return _decode(file, charset)
    try:
        return file.decode()
    except UnicodeDecodeError:
        if b"\x00" in file:
            raise Unreadable("The file is not text.") from None
        return _decode(file, "cp1252")


def _decode(file: bytes, encoding: str) -> str:
    try:
        return file.decode(encoding)
    except (UnicodeError, LookupError):
        raise Unreadable("The file is not text in a known encoding.") from None


def _read_html(file: bytes, charset: str | None) -> str:
    reader = _Html()
    reader.feed(_read_text(file, charset))
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return "\n".join(lines)


class _Html(HTMLParser):
    """Collects what a reader of the page would see."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._skipped: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002 - the signature is given
        if tag in _SKIPPED:
            self._skipped.append(tag)
        elif _BLOCKS.fullmatch(tag):
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._skipped:
            del self._skipped[self._skipped.index(tag) :]
        elif _BLOCKS.fullmatch(tag):
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.pieces.append(data)


def _read_json(file: bytes, charset: str | None) -> str:
    try:
        value = json.loads(_read_text(file, charset))
        return json.dumps(value, indent=1, ensure_ascii=False)
    except RecursionError:
        raise Unreadable("The JSON is nested too deeply.") from None
    except ValueError:
        raise Unreadable("The file is not valid JSON.") from None


def _read_csv(file: bytes, charset: str | None) -> str:
    text = _read_text(file, charset)
    csv.field_size_limit(MAX_UNPACKED)
    try:
        dialect: Any = csv.Sniffer().sniff(text[:4096], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    try:
        rows = csv.reader(io.StringIO(text, newline=""), dialect, strict=False)
        return "\n".join(", ".join(cell.strip() for cell in row if cell.strip()) for row in rows)
    except csv.Error:
        raise Unreadable("The file is not valid CSV.") from None


def _read_pdf(file: bytes, _charset: str | None) -> str:
    import pypdf
    from pypdf.errors import PyPdfError

    try:
        document = pypdf.PdfReader(io.BytesIO(file))
        if document.is_encrypted and not document.decrypt(""):
            raise Unreadable("The PDF is encrypted.")
        return "\n\n".join(_bounded(page.extract_text() for page in document.pages))
    except Unreadable:
        raise
    except (MemoryError, RecursionError):
        raise _too_large() from None
    except PyPdfError:
        raise Unreadable("The PDF is broken.") from None
    except Exception:  # noqa: BLE001 - the library raises anything for a broken PDF
        raise Unreadable("The PDF is broken, or uses an unknown encryption.") from None


def _read_docx(file: bytes, _charset: str | None) -> str:
    import docx

    if file.startswith(b"\xd0\xcf\x11\xe0"):
        raise Unreadable("The document is encrypted, or in an older Word format.")
    try:
        with zipfile.ZipFile(io.BytesIO(file)) as archive:
            if sum(it.file_size for it in archive.infolist()) > MAX_UNPACKED:
                raise _too_large()
            if any(it.flag_bits & 1 for it in archive.infolist()):
                raise Unreadable("The document is encrypted.")
        document = docx.Document(io.BytesIO(file))
        return "\n".join(_bounded(_blocks(document)))
    except Unreadable:
        raise
    except (MemoryError, RecursionError):
        raise _too_large() from None
    except Exception:  # noqa: BLE001 - the library raises anything for a broken file
        raise Unreadable("The document is broken.") from None


def _blocks(document: Any) -> Iterator[str]:
    """Paragraphs and tables in the order of the document."""
    from docx.table import Table

    for block in document.iter_inner_content():
        if isinstance(block, Table):
            for row in block.rows:
                yield ", ".join(dict.fromkeys(cell.text.strip() for cell in row.cells))
            yield ""
        else:
            yield block.text
            yield ""


def _bounded(pieces: Iterator[str]) -> Iterator[str]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_UNPACKED:
            raise _too_large()
        yield piece


def _too_large() -> Unreadable:
    return Unreadable("The file is too large when unpacked.")


_READERS: dict[str, Callable[[bytes, str | None], str]] = {
    "text": _read_text,
    "markdown": _read_text,
    "html": _read_html,
    "json": _read_json,
    "csv": _read_csv,
    "pdf": _read_pdf,
    "docx": _read_docx,
}


def _limit_this_process() -> None:
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Read the file from standard input and print the result."""
    asked = json.loads(sys.argv[1])
    _limit_this_process()
    try:
        found = text_of(sys.stdin.buffer.read(), asked["format"], asked["charset"])
        if asked["redact"]:
            found, _ = redact(found)
        answer: dict[str, Any] = {"chunks": split_text(found, LONGEST_CHUNK)}
    except Unreadable as error:
        answer = {"error": str(error), "is_blank": isinstance(error, Blank)}
    except (MemoryError, RecursionError):
        answer = {"error": str(_too_large())}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
