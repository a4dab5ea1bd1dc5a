"""Broken HTTP: requests that are malformed in every way a socket allows, generated from a seed."""

from collections.abc import Callable
from random import Random

from tests.faults.raw_http import request

NAME = "workspace:fuzzed"
MEMORY = {"content": "fuzzed", "kind": "fact", "source": "user"}
SOUND = [
    request("GET", "/v1/health"),
    request("PUT", f"/v1/namespaces/{NAME}", {"kind": "workspace"}),
    request("PATCH", f"/v1/namespaces/{NAME}", {"metadata": {"a": 1}}),
    request("POST", f"/v1/namespaces/{NAME}/memories", MEMORY),
    request("POST", "/v1/search", {"namespaces": [NAME], "query": "fuzzed"}),
    request("DELETE", f"/v1/memories/{'0' * 8}-0000-4000-8000-{'0' * 12}", {}),
    request("POST", "/v1/memories/batch", {"writes": [{"namespace": NAME, **MEMORY}]}),
    request("POST", "/v1/memories/list", {"namespaces": [NAME]}),
]


def broken_request(random: Random) -> bytes:
    """A valid request, damaged in one to three ways."""
    data = random.choice(SOUND)
    for _ in range(random.randint(1, 3)):
        data = random.choice(_ACCIDENTS)(random, data)
    return data


def _cut(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _flip(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 8)):
        if changed:
            changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _insert(random: Random, data: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    what = random.choice(_DEBRIS) * random.choice([1, 1, 2, 50])
    return data[:at] + what + data[at:]


def _double(_: Random, data: bytes) -> bytes:
    """Two requests in one write."""
    return data + data


def _swap_line_ends(random: Random, data: bytes) -> bytes:
    return data.replace(b"\r\n", random.choice([b"\n", b"\r", b"\r\r\n", b"\x00\r\n"]))


def _other_method(random: Random, data: bytes) -> bytes:
    return random.choice(_METHODS) + b" " + data.partition(b" ")[2]


def _other_target(random: Random, data: bytes) -> bytes:
    method, _, rest = data.partition(b" ")
    return method + b" " + random.choice(_TARGETS) + b" " + rest.partition(b" ")[2]


def _other_version(random: Random, data: bytes) -> bytes:
    return data.replace(b"HTTP/1.1", random.choice(_VERSIONS), 1)


def _other_header(random: Random, data: bytes) -> bytes:
    line, _, rest = data.partition(b"\r\n")
    return line + b"\r\n" + random.choice(_HEADERS) + b"\r\n" + rest


def _other_length(random: Random, data: bytes) -> bytes:
    length = random.choice(
        [b"-1", b"0", b"1", b"99999999999999999999", b"0x10", b"1, 2", b"", b"+5"]
    )
    before, found, after = data.partition(b"Content-Length: ")
    return before + found + length + after[after.find(b"\r") :] if found else data


def _other_body(random: Random, data: bytes) -> bytes:
    head, _, _ = data.partition(b"\r\n\r\n")
    body = random.choice(_BODIES)
    before, _, after = head.partition(b"Content-Length: ")
    rest = after[after.find(b"\r") :] if b"\r" in after else b""
    return before + b"Content-Length: %d" % len(body) + rest + b"\r\n\r\n" + body


def _chunked(random: Random, data: bytes) -> bytes:
    line = data.partition(b"\r\n")[0]
    chunks = random.choice(_CHUNKS)
    return line + b"\r\nHost: plugin\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks


def _noise(random: Random, _: bytes) -> bytes:
    return random.randbytes(random.randint(1, 2000))


_DEBRIS = [
    b"\x00",
    b"\xff",
    b"\r\n",
    b"\n",
    b" ",
    b":",
    b"\x80\x81",
    b"%",
    b"%00",
    b"%ff",
    b"\t",
    b"{",
]
_METHODS = [b"TRACE", b"CONNECT", b"OPTIONS", b"HEAD", b"PRI", b"get", b"", b"G\x00T", b"POST" * 40]
_TARGETS = [
    b"*",
    b"",
    b"/" * 3000,
    b"/v1/namespaces/%2e%2e%2f%2e%2e",
    b"/v1/namespaces/%00/memories",
    b"/v1/namespaces/%ff%fe",
    b"/v1/namespaces/" + b"a" * 300,
    b"/v1/namespaces/a%3Ab%2Fc/memories",
    b"/v1/memories/not-a-uuid",
    b"//v1/health",
    b"http://elsewhere/v1/health",
    b"elsewhere:443",
    b"/v1/health?" + b"q" * 5000,
    b"/v1/health#x",
    b"\xe2\x98\x83",
    b"/v1/search/",
    b"/v1/../v1/health",
    b"/v1/he\x00alth",
    b"/" + b"a" * 70000,
]
_VERSIONS = [b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/9.9", b"HTTP/1.", b"HTTQ/1.1", b""]
_HEADERS = [
    b"No colon at all",
    b": empty name",
    b"Na me: x",
    b"Name\x00: x",
    b"Host: other\r\nHost: another",
    b"Content-Length: 3\r\nContent-Length: 5",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    b"Transfer-Encoding: gzip",
    b"Expect: 100-continue",
    b"Expect: the-unexpected",
    b"Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x",
    b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: x",
    b"Connection: close",
    b"X: " + b"x" * 70000,
    b"\r\n".join(b"X-%d: y" % number for number in range(300)),
    b" folded: x\r\n  more",
    b"Authorization: Bearer \xff\xfe",
    b"Content-Type: text/plain; charset=utf-16",
    b"Content-Encoding: gzip",
    b"Accept: \x01\x02",
]
_BODIES = [
    b"",
    b"null",
    b"[]",
    b'"',
    b"{",
    b"NaN",
    b"[" * 100_000,
    b'{"a":' * 20_000,
    b'{"content": "\\ud800", "kind": "fact", "source": "user"}',
    b'{"content": "\\u0000", "kind": "fact", "source": "user"}',
    b'{"content": "\xff\xfe", "kind": "fact", "source": "user"}',
    b'{"content": "x", "kind": "fact", "source": "user", "embedding": [1e999]}',
    b'{"content": "x", "kind": "fact", "source": "user", "embedding": [NaN]}',
    b'{"content": "x", "kind": "fact", "source": "user", "expires_at": "9999-99-99"}',
    b'{"content": "x", "kind": "fact", "source": "user", "propagation": {"a": 1e400}}',
    b'{"content": "x", "kind": "fact", "source": "user", "propagation": {"\\u0000": 1}}',
    b'{"content": "x", "kind": "fact", "source": "user", "pin": "maybe", "id": 7}',
    b'{"namespaces": ["workspace:fuzzed"], "limit": 1' + b"0" * 400 + b"}",
    b'{"namespaces": ["workspace:fuzzed"], "cursor": "AAAA"}',
    b'{"namespaces": "workspace:fuzzed"}',
    b'{"kind": "workspace", "kind": "team", "metadata": []}',
    b'{"writes": [' + b"1," * 1000 + b"1]}",
    b"\xef\xbb\xbf{}",
    b"1" * 5000,
    b"-" + b"0" * 5000,
]
_CHUNKS = [
    b"0\r\n\r\n",
    b"zz\r\nhello\r\n0\r\n\r\n",
    b"5\r\nhello0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"-5\r\nhello\r\n",
    b"5;ext=\x00\r\nhello\r\n0\r\nTrailer: x\r\n\r\n",
    b"1\r\n{\r\n" * 2000 + b"0\r\n\r\n",
    b"5\r\nhel",
]
_ACCIDENTS: list[Callable[[Random, bytes], bytes]] = [
    _cut,
    _flip,
    _insert,
    _double,
    _swap_line_ends,
    _other_method,
    _other_target,
    _other_version,
    _other_header,
    _other_length,
    _other_body,
    _chunked,
    _noise,
]
