"""The supported file types, by content type or else by file name."""

from email.message import Message
from pathlib import PurePath
from typing import Final

from gateway.errors import Unsupported

_BY_TYPE: Final = {
    "text/plain": "text",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/json": "json",
    "text/json": "json",
    "text/csv": "csv",
    "application/csv": "csv",
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
}
_BY_SUFFIX: Final = {
    ".txt": "text/plain",
    ".text": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".json": "application/json",
    ".csv": "text/csv",
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
_UNKNOWN = ("", "application/octet-stream")


def content_type(given: str | None, filename: str | None, default: str | None = None) -> str:
    """The content type of a file, without parameters; raises `Unsupported`.

    `default` is for a file without a type whose name has no ending.
    """
    kind = (given or "").partition(";")[0].strip().lower()
    if kind in _UNKNOWN:
        suffix = PurePath(filename or "").suffix.lower()
        kind = _BY_SUFFIX.get(suffix, kind) if suffix else default or kind
    if kind not in _BY_TYPE:
        raise Unsupported(
            "file: must be text, Markdown, HTML, JSON, CSV, PDF or DOCX,"
            " by its content type or the end of its name"
        )
    return kind


def format_of(kind: str) -> str:
    """The format of a supported content type."""
    return _BY_TYPE[kind]


def charset_of(given: str | None) -> str | None:
    """The charset that a content type names."""
    header = Message()
    header["content-type"] = given or ""
    return header.get_content_charset()
