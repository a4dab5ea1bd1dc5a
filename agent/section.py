"""One JSON object of the configuration, read field by field.

An invalid value raises ConfigError with the place and the rule, but without the value: it may be a
key, or a key in the wrong place.
"""

import math
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from agent.errors import ConfigError


class Section:
    """`path` is the object's place in the JSON, "" for the whole."""

    def __init__(self, data: Any, path: str = "") -> None:
        if not isinstance(data, Mapping):
            raise ConfigError(f"{path or 'configuration'}: must be a JSON object")
        self._data = data
        self._path = path

    def __contains__(self, name: str) -> bool:
        return self._data.get(name) is not None

    def section(self, name: str) -> "Section | None":
        """A nested section; None if it is absent or null."""
        return Section(self._data[name], self._at(name)) if name in self else None

    def required_section(self, name: str, why: str) -> "Section":
        section = self.section(name)
        if section is None:
            raise ConfigError(f"{self._at(name)}: is required {why}")
        return section

    def text(self, name: str, default: str | None = None) -> str:
        """A non-blank string; required when there is no default."""
        value = self._data.get(name, default)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(name, "must be a non-blank string")
        return value

    def secret(self, name: str) -> str | None:
        """A string that an HTTP header can carry, or None."""
        if name not in self:
            return None
        value = self.text(name)
        if not fits_header(value):
            raise self.wrong(name, "must be printable characters without spaces")
        return value

    def path(self, name: str, default: str) -> Path:
        """A path; a `~` at its beginning is the home directory."""
        value = self.text(name, default)
        if "\0" in value or (value.startswith("~") and not re.match(r"~(/|$)", value)):
            raise self.wrong(name, "must be a path; ~ works only for your own home directory")
        return Path(value).expanduser()

    def base_url(self, name: str) -> str:
        value = self.text(name)
        if not _is_base_url(value):
            raise self.wrong(
                name, "must be an http or https URL without a password, a query or a fragment"
            )
        return value.rstrip("/")

    def integer(self, name: str, default: int, *, least: int, most: int | None = None) -> int:
        value = self._data.get(name, default)
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if not is_integer or value < least or (most is not None and value > most):
            limits = f"at least {least}" if most is None else f"from {least} to {most}"
            raise self.wrong(name, f"must be an integer {limits}")
        return int(value)

    def seconds(self, name: str, default: float) -> float:
        value = _as_float(self._data.get(name, default))
        if value is None or not math.isfinite(value) or value <= 0:
            raise self.wrong(name, "must be a finite number greater than 0")
        return value

    def choice(self, name: str, allowed: Collection[str]) -> str | None:
        """One of the words; None if the field is absent."""
        if name not in self._data:
            return None
        value = self._data[name]
        if not isinstance(value, str) or value not in allowed:
            raise self.wrong(name, f"must be one of {', '.join(allowed)}")
        return value

    def choices(
        self, name: str, default: tuple[str, ...], allowed: Collection[str]
    ) -> tuple[str, ...]:
        """Several of the words, without repeats, in their order in the file."""
        value = self._data.get(name, default)
        fits = isinstance(value, list | tuple) and len(value) > 0
        if not fits or not all(isinstance(word, str) and word in allowed for word in value):
            raise self.wrong(name, f"must be a non-empty list of {', '.join(allowed)}")
        return tuple(dict.fromkeys(value))

    def wrong(self, name: str, rule: str) -> ConfigError:
        return ConfigError(f"{self._at(name)}: {rule}")

    def _at(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name


def fits_header(text: str) -> bool:
    """Whether a header can carry it as UTF-8; control characters and surrogates do not print."""
    return text.isprintable() and " " not in text


def _as_float(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _is_base_url(text: str) -> bool:
    if not text.isprintable() or any(char.isspace() or char in "?#\\" for char in text):
        return False
    try:
        parts = urlsplit(text)
        url = httpx.URL(text)
        return (
            url.scheme in ("http", "https")
            and bool(url.host)
            and (parts.port != 0 and "@" not in parts.netloc)
        )
    except (ValueError, httpx.InvalidURL):
        return False
