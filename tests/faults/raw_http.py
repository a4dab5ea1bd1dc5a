"""Raw connections to a plugin: cheap enough for a thousand, and free to break the protocol."""

import asyncio
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

import orjson

from contract.address import Address


@dataclass
class Connection:
    """One connection; requests are bytes, so they can be malformed in any way."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def open(cls, address: str) -> Self:
        where = Address.parse(address)
        if where.socket is not None:
            return cls(*await asyncio.open_unix_connection(where.socket))
        parts = urlsplit(where.url)
        return cls(*await asyncio.open_connection(parts.hostname, parts.port))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> "Reply":
        """Read one response; raises IncompleteReadError if the server closes instead."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (h.partition(":") for h in lines)
        }
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return Reply(int(status.split()[1]), headers, body)

    def close(self) -> None:
        """Close without waiting for the other side."""
        self.writer.transport.abort()


@dataclass(frozen=True)
class Reply:
    """A response as received."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str | None:
        """The `code` of the Error envelope, if the body is one."""
        try:
            return str(orjson.loads(self.body)["code"])
        except (ValueError, LookupError, TypeError):
            return None


async def open_many(address: str, count: int) -> list[Connection]:
    """`count` connections, opened a hundred at a time."""
    opened: list[Connection] = []
    for first in range(0, count, 100):
        some = range(first, min(first + 100, count))
        opened += await asyncio.gather(*(Connection.open(address) for _ in some))
    return opened


def request(method: str, path: str, body: object = None) -> bytes:
    """A well-formed request."""
    content = b"" if body is None else orjson.dumps(body)
    head = f"{method} {path} HTTP/1.1\r\nHost: plugin\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content
