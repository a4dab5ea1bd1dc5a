"""The headers of a proxied request: ours, those sent upstream, those sent back."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from recall.access import COOKIE
from recall.upstream import Headers

HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
OURS: Final = frozenset(
    {
        b"x-memory-skip",
        b"x-omniroute-no-memory",
        b"x-session-id",
        b"x-omniroute-session-id",
        b"x-memory-provider",
        b"x-memory-key",
    }
)
REPORTED: Final = frozenset({b"x-memory-injected", b"x-memory-tokens", b"x-memory-error"})
"""What we add to a response."""
CREDENTIALS: Final = frozenset({b"authorization", b"x-api-key"})
# Our server has answered `expect`; `host` is set for the upstream.
_NOT_SENT = HOP_BY_HOP | OURS | {b"host", b"expect"}
_MAX_SESSION = 512
_OUR_COOKIE = COOKIE.encode()


@dataclass(frozen=True)
class Wishes:
    """What the client wants from memory, as stated in headers."""

    session_id: str = ""
    provider: str | None = None
    memory_key: str | None = None
    skips_injection: bool = False
    skips_extraction: bool = False


def read_wishes(headers: Headers) -> Wishes:
    """Read our headers; names in `headers` are in lower case."""
    given: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in OURS:
            given[name] = given[name] + b"," + value if name in given else value
    if not given:
        return Wishes()
    skip_text = _text(given.get(b"x-memory-skip")).strip().lower()
    skip = {one.strip() for one in skip_text.split(",")} - {""}
    # Something was said, and it is no list of what to skip.
    skips_all = bool(skip_text) and (not skip or bool(skip - {"inject", "extract"}))
    no_memory = _text(given.get(b"x-omniroute-no-memory")).strip().lower()
    skips_all = skips_all or no_memory in ("true", "1", "yes")
    session = _text(given.get(b"x-session-id")) or _text(given.get(b"x-omniroute-session-id"))
    return Wishes(
        session_id=_session(session.strip()),
        provider=_text(given.get(b"x-memory-provider")).strip() or None,
        memory_key=_text(given.get(b"x-memory-key")).strip() or None,
        skips_injection=skips_all or "inject" in skip,
        skips_extraction=skips_all or "extract" in skip,
    )


def for_upstream(
    headers: Headers,
    *,
    length: int | None,
    upstream_key: str | None,
    keeps_credentials: bool,
    is_anthropic: bool,
) -> Headers:
    """The headers to send upstream; `length` is that of the body, if known."""
    dropped = _NOT_SENT | _named_by_connection(headers)
    if not keeps_credentials:
        dropped |= CREDENTIALS
    if length is not None:
        dropped |= {b"content-length"}
    sent = [
        (name, kept)
        for name, value in headers
        if name not in dropped and (kept := _foreign(name, value)) is not None
    ]
    if upstream_key is not None:
        sent.append((b"authorization", b"Bearer " + upstream_key.encode("latin-1")))
        if is_anthropic:
            sent.append((b"x-api-key", upstream_key.encode("latin-1")))
    if length is not None:
        sent.append((b"content-length", b"%d" % length))
    return sent


def for_client(headers: Headers, *, reports: bool = False) -> Headers:
    """The headers of a response to send to the client; `reports`: ours will be added."""
    lowered = [(name.lower(), value) for name, value in headers]
    dropped = HOP_BY_HOP | _named_by_connection(lowered)
    if reports:
        dropped |= REPORTED
    return [(name, value) for name, value in lowered if name not in dropped]


def value_of(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """The value of a header, or ""; `name` is in lower case."""
    return next((_text(value) for given, value in headers if given.lower() == name), "")


def _foreign(name: bytes, value: bytes) -> bytes | None:
    """The value without the dashboard's cookie, which the upstream must not see."""
    if name != b"cookie" or _OUR_COOKIE not in value:
        return value
    cookies = [one.strip() for one in value.split(b";")]
    kept = [one for one in cookies if one.partition(b"=")[0].strip() != _OUR_COOKIE]
    return value if len(kept) == len(cookies) else b"; ".join(kept) or None


def _named_by_connection(headers: Headers) -> frozenset[bytes]:
    named = (value for name, value in headers if name == b"connection")
    return frozenset(one.strip().lower() for value in named for one in value.split(b","))


def _text(value: bytes | None) -> str:
    if value is None:
        return ""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _session(name: str) -> str:
    """The session id, or "" if no memory can have it."""
    return name if len(name) <= _MAX_SESSION and name.isprintable() else ""
