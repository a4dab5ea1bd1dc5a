"""A lean HTTP load generator in its own process: `python -m bench.generator`.

Each connection sends its next request when the previous one is answered. It reads from standard
input a JSON object with `host`, `port`, `connections`, `seconds` and `requests` (texts to send in
turn), and prints one with the figures. Used where wrk is not installed.
"""

import asyncio
import json
import sys
import time
from functools import partial
from typing import Any

import uvloop


class Connection(asyncio.Protocol):
    """Sends requests in turn until the time is over."""

    def __init__(self, requests: list[bytes], first: int, until: float) -> None:
        self.latencies: list[float] = []
        self.failures = 0
        self.done = asyncio.get_running_loop().create_future()
        self._requests = requests
        self._next = first
        self._until = until
        self._buffer = b""
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        if self._sent >= self._until:
            self._transport.close()
            return
        self._transport.write(self._requests[self._next % len(self._requests)])
        self._next += 1

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        mark = self._buffer[:head].lower().find(b"content-length:")
        size = int(self._buffer[mark + 15 : head].split(b"\r\n", 1)[0]) if mark >= 0 else 0
        if len(self._buffer) < head + 4 + size:
            return
        self.latencies.append(time.perf_counter() - self._sent)
        self.failures += self._buffer[9:10] != b"2"
        self._buffer = b""
        self._send()

    def connection_lost(self, _: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def run(order: dict[str, Any]) -> dict[str, float]:
    """Run an order and return requests, failures, seconds, p50 and p99 in milliseconds."""
    loop = asyncio.get_running_loop()
    requests = [text.encode() for text in order["requests"]]
    began = time.perf_counter()
    until = began + order["seconds"]
    count = order["connections"]
    connections = []
    for place in range(count):
        _, connection = await loop.create_connection(
            partial(Connection, requests, place * len(requests) // count, until),
            order["host"],
            order["port"],
        )
        connections.append(connection)
    await asyncio.gather(*(connection.done for connection in connections))
    latencies = sorted(value for each in connections for value in each.latencies)
    return {
        "requests": len(latencies),
        "failures": sum(each.failures for each in connections),
        "seconds": time.perf_counter() - began,
        "p50": latencies[len(latencies) // 2] * 1000,
        "p99": latencies[len(latencies) * 99 // 100] * 1000,
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(json.load(sys.stdin)))))
