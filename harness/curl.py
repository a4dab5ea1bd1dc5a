"""The shortest sequence of shell commands that reproduces what a check did.

Only what affects the failing request is kept: the changes to the namespaces and memories that it
mentions. Generated ids, times relative to now, waits and concurrent requests are written so that
the sequence still works on another day.
"""

import base64
import json
import re
import shlex
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from contract import parse_time
from harness.exchange import Exchange, Request

_NAMESPACE = re.compile(r"[a-z]+:conformance\.[A-Za-z0-9_:.\-]+")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_NUMBER = re.compile(r"\d+")
_READS = ("/v1/health", "/v1/search", "/v1/memories/list")
_LONG_BODY = 2000
_MOST_LINES = 40


@dataclass(frozen=True)
class Caller:
    """How curl reaches the plugin."""

    url: str
    socket: str | None = None
    token: bool = False


def repeat(
    exchanges: Sequence[Exchange],
    caller: Caller,
    waits: Sequence[float] = (),
    commands: Sequence[tuple[float, str]] = (),
) -> list[str]:
    """Commands for a shell, the last of which shows the failure.

    `waits` are the moments at which the check waited on purpose, `commands` its shell commands and
    when it ran them.
    """
    kept = relevant(exchanges)
    names = _made_ids(kept)
    lines: list[str] = []
    place = 0
    while place < len(kept):
        exchange = kept[place]
        if place and _waited(kept[place - 1], exchange, waits):
            lines.append(f"sleep {exchange.sent - kept[place - 1].received:.1f}")
        since = kept[place - 1].sent if place else 0.0
        lines += [command for at, command in commands if since <= at < exchange.sent]
        size, template = _series(kept[place:])
        if size > 1:
            lines.append(_loop(kept[place : place + size], template, caller, names))
        else:
            lines.append(_line(exchange, caller, names, last=place == len(kept) - 1))
        place += size
    if len(lines) > _MOST_LINES:
        left_out = len(lines) - _MOST_LINES
        lines[_MOST_LINES - 1 : -1] = [f"# … {left_out + 1} more requests like these"]
    return lines


def _waited(earlier: Exchange, later: Exchange, waits: Sequence[float]) -> bool:
    return any(earlier.received <= wait <= later.sent for wait in waits)


def relevant(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """The last exchange, and the earlier changes to what it depends on."""
    if not exchanges:
        return []
    kept = [exchanges[-1]]
    needed = _mentions(exchanges[-1])
    # Concurrent requests were recorded in the order of their answers.
    for exchange in sorted(exchanges[:-1], key=lambda exchange: -exchange.sent):
        if exchange.request.path in _READS or exchange.request.method == "GET":
            continue
        mentions = _mentions(exchange)
        if mentions & needed:
            kept.append(exchange)
            needed |= mentions
    return kept[::-1]


def _mentions(exchange: Exchange) -> set[str]:
    """The namespaces and ids in an exchange."""
    body = (exchange.request.body or b"").decode("utf-8", "replace")
    made = exchange.body.decode("utf-8", "replace") if exchange.status == 201 else ""
    text = f"{exchange.request.path} {body} {made}"
    return {*_NAMESPACE.findall(text), *_UUID.findall(text.lower())}


def _made_ids(kept: Sequence[Exchange]) -> dict[str, str]:
    """Ids that the plugin generated and a later request uses, each with a shell variable."""
    names: dict[str, str] = {}
    for place, exchange in enumerate(kept):
        made = _made_id(exchange)
        later = kept[place + 1 :]
        if made and any(made in _text(other.request) for other in later):
            names[made] = f"ID{len(names) + 1}"
    return names


def _made_id(exchange: Exchange) -> str | None:
    if exchange.status != 201:
        return None
    found = _UUID.search(exchange.body.decode("utf-8", "replace"))
    return found[0] if found and found[0] not in _text(exchange.request) else None


def _text(request: Request) -> str:
    return f"{request.path} {(request.body or b'').decode('utf-8', 'replace')}"


def _series(exchanges: Sequence[Exchange]) -> tuple[int, str | None]:
    """How many requests, from the first on, differ only in one number that counts up."""
    first = exchanges[0].request
    size, start, span = 1, 0, None
    for offset, exchange in enumerate(exchanges[1:], start=1):
        request = exchange.request
        if (request.method, request.headers) != (first.method, first.headers):
            break
        if request == first and span is None:
            size += 1
            continue
        if request.path != first.path or None in (request.body, first.body) or size != offset:
            break
        counted = _counted(_text(first), _text(request), offset)
        if counted is None or (span is not None and counted != (start, span)):
            break
        if span is None and size > 1:
            break
        start, span = counted
        size += 1
    # A request without an id creates a new memory each time; the sequence must show its answer.
    if size < 4:
        return 1, None
    return size, None if span is None else f"{start}:{span}"


def _counted(first: str, other: str, offset: int) -> tuple[int, int] | None:
    """The position of the one number that is `offset` higher in the other text."""
    ours, theirs = _NUMBER.split(first), _NUMBER.split(other)
    if ours != theirs:
        return None
    pairs = zip(_NUMBER.finditer(first), _NUMBER.findall(other), strict=True)
    different = [(match, number) for match, number in pairs if match[0] != number]
    if len(different) != 1:
        return None
    match, number = different[0]
    counts = int(number) == int(match[0]) + offset and str(int(match[0])) == match[0]
    return match.span() if counts else None


def _loop(
    series: Sequence[Exchange], template: str | None, caller: Caller, names: dict[str, str]
) -> str:
    first = series[0]
    at_once = series[1].sent < first.received
    if template is None:
        command, start = _command(first, caller, names), 1
    else:
        begin, end = (int(part) for part in template.split(":"))
        text = _text(first.request)
        start = int(text[begin:end])
        offset = len(first.request.path) + 1
        body = (first.request.body or b"").decode()
        counted = body[: begin - offset] + "\x00N\x00" + body[end - offset :]
        request = Request(
            first.request.method, first.request.path, counted.encode(), first.request.headers
        )
        command = _command(
            Exchange(request, first.at, first.sent, first.received, None, first.headers, b""),
            caller,
            names,
        ).replace("\x00N\x00", "'\"$n\"'")
    numbers = f"$(seq {start} {start + len(series) - 1})"
    if at_once:
        return f"for n in {numbers}; do {command} & done; wait"
    return f"for n in {numbers}; do {command}; done"


def _line(exchange: Exchange, caller: Caller, names: dict[str, str], *, last: bool) -> str:
    command = _command(exchange, caller, names)
    made = _made_id(exchange)
    if made in names:
        find = r"""sed -n 's/.*"id" *: *"\([^"]*\)".*/\1/p'"""
        return f"{names[made]}=$({command} | {find})"
    return command.replace("curl -sS", "curl -sS -i", 1) if last else command


def _command(exchange: Exchange, caller: Caller, names: dict[str, str]) -> str:
    request = exchange.request
    parts = ["curl -sS -X", request.method]
    if caller.socket:
        parts += ["--unix-socket", shlex.quote(caller.socket)]
    path = _quote(request.path, names)
    parts.append(f'"{caller.url}"{path}' if caller.url.startswith("$") else _join(caller.url, path))
    if caller.token:
        parts.append('-H "Authorization: Bearer $MEMORY_PLUGIN_TOKEN"')
    parts += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in request.headers.items()]
    if request.body is None:
        return " ".join(parts)
    try:
        text = request.body.decode()
    except UnicodeDecodeError:
        text = ""
    if not text or len(request.body) > _LONG_BODY:
        packed = base64.b64encode(zlib.compress(request.body, 9)).decode()
        unpack = (
            "import base64,sys,zlib;"
            f"sys.stdout.buffer.write(zlib.decompress(base64.b64decode({packed!r})))"
        )
        return f"python3 -c {shlex.quote(unpack)} | {' '.join(parts)} --data-binary @-"
    return " ".join([*parts, "--data-binary", _relative(_quote(text, names), exchange)])


def _join(url: str, quoted: str) -> str:
    return f"'{url}{quoted[1:]}"


def _quote(text: str, names: dict[str, str]) -> str:
    """In single quotes, with the shell variable for each id that the plugin generated."""
    quoted = "'" + text.replace("'", "'\"'\"'") + "'"
    for made, name in names.items():
        quoted = quoted.replace(made, f"'\"${name}\"'")
    return quoted


def _relative(quoted: str, exchange: Exchange) -> str:
    """Times close to that of the request become times relative to when it is repeated."""

    def from_now(match: re.Match[str]) -> str:
        try:
            ahead = parse_time(match[0]) - exchange.at
        except ValueError:
            return match[0]  # a time that is wrong on purpose
        if abs(ahead) > timedelta(days=1):
            return match[0]
        seconds = round(ahead.total_seconds(), 1)
        return f"'\"$(date -u -d '{seconds:+g} seconds' +%FT%T.%6NZ)\"'"

    return _TIME.sub(from_now, quoted)


def body_of(value: object) -> bytes:
    """A JSON body in one line, readable in a terminal."""
    return json.dumps(value, ensure_ascii=False).encode()
