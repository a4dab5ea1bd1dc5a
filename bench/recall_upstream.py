"""A model server that answers at once, so that only what is in front of it is measured.

`python -m bench.recall_upstream` prints its port. A request with `"stream":true` gets a stream.
"""

import asyncio
import json
from typing import cast

_WHOLE = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "All right. " * 20},
                "finish_reason": "stop",
            }
        ],
    }
).encode()
_ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(_WHOLE)
) + _WHOLE
_EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"All right. "}}]}\n\n'
_CHUNK = b"%x\r\n%s\r\n" % (len(_EVENT), _EVENT)
_STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    + _CHUNK * 5
    + b"0\r\n\r\n"
)


class _Model(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._waiting = b""

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        while (end := self._waiting.find(b"\r\n\r\n")) >= 0:
            head = self._waiting[:end].lower()
            start = head.find(b"content-length:")
            length = int(head[start + 15 :].split(b"\r\n")[0]) if start >= 0 else 0
            if len(self._waiting) < end + 4 + length:
                return
            body = self._waiting[end + 4 : end + 4 + length]
            self._waiting = self._waiting[end + 4 + length :]
            streams = b'"stream":true' in body.replace(b" ", b"")
            self._transport.write(_STREAM if streams else _ANSWER)


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Model, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(_serve())
