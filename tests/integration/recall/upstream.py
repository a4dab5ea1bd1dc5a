"""A scripted model server that behaves like real ones, down to the bytes and their timing."""

import asyncio
import gzip
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Respond = Callable[["Received", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Received:
    """A request as it came over the wire."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return next((value for given, value in self.headers if given.lower() == name), None)


class Model:
    """The server. `respond` answers everything, until a test gives it another script."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.respond: Respond = talk
        self.port = 0
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def last(self) -> Received:
        return self.requests[-1]

    def reset(self) -> None:
        self.requests.clear()
        self.respond = talk

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    received = await _read(reader)
                    self.requests.append(received)
                    gone = asyncio.create_task(_until_gone(reader, received))
                    try:
                        await self.respond(received, writer)
                        await writer.drain()
                    finally:
                        gone.cancel()
        finally:
            # Also after a request that it cannot answer: Python 3.11.2 would leave it open.
            self._open.discard(writer)
            writer.close()


async def _until_gone(reader: asyncio.StreamReader, received: Received) -> None:
    while not reader.at_eof():  # noqa: ASYNC110 - the reader has no event for it
        await asyncio.sleep(0.01)
    received.left.set()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    found = {name.lower(): value for name, value in headers}
    body = b""
    if found.get("transfer-encoding", "").lower() == "chunked":
        parts = []
        while size := int(await reader.readline(), 16):
            parts.append(await reader.readexactly(size))
            await reader.readline()
        await reader.readline()
        body = b"".join(parts)
    elif "content-length" in found:
        body = await reader.readexactly(int(found["content-length"]))
    return Received(method, target, headers, body)


def head(status: int, *headers: str, reason: str = "OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} {reason}", *headers, "", ""]).encode("latin-1")


def whole(body: bytes, *headers: str, status: int = 200) -> bytes:
    given = headers or ("content-type: application/json",)
    return head(status, *given, f"content-length: {len(body)}") + body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(value: Any, name: str | None = None) -> bytes:
    text = value if isinstance(value, str) else json.dumps(value)
    start = f"event: {name}\n" if name else ""
    return f"{start}data: {text}\n\n".encode()


def said(received: Received) -> str:
    """What the model answers: the test says it in the request, after `say:`."""
    return str(received.header("x-test-say") or "All right.")


async def talk(received: Received, writer: asyncio.StreamWriter) -> None:
    """Answer in the format of the endpoint, as a stream where one is asked for."""
    path = received.target.partition("?")[0]
    try:
        asked = received.json if received.body else {}
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        error = {"error": {"message": "not JSON", "type": "invalid_request_error"}}
        writer.write(whole(json.dumps(error).encode(), status=400))
        return
    text = said(received)
    if path.endswith("/models"):
        writer.write(whole(b'{"object":"list","data":[{"id":"scripted","object":"model"}]}'))
    elif asked.get("stream"):
        writer.write(
            head(200, "content-type: text/event-stream", "transfer-encoding: chunked", "x-up: 1")
        )
        for piece in STREAMS[path](text):
            writer.write(chunk(piece))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
    else:
        writer.write(whole(json.dumps(WHOLES[path](text)).encode()))


def chat(text: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def chat_stream(text: str) -> Iterator[bytes]:
    def delta(change: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": change, "finish_reason": finish}
        return event(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "scripted",
                "choices": [choice],
            }
        )

    yield delta({"role": "assistant", "content": ""})
    yield delta({"reasoning_content": "I prefer to think about it first."})
    tool = {"index": 0, "id": "call_1", "type": "function"}
    tool |= {"function": {"name": "look", "arguments": '{"note": "You prefer tabs."}'}}
    yield delta({"tool_calls": [tool]})
    yield b": ping\n\n"
    for word in text.split(" "):
        yield delta({"content": word + " "})
    yield delta({}, "stop")
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield event(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "scripted",
            "choices": [],
            "usage": usage,
        }
    )
    yield event("[DONE]")


def messages(text: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [
            {"type": "thinking", "thinking": "You prefer vim.", "signature": "s"},
            {"type": "text", "text": text},
        ],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def messages_stream(text: str) -> Iterator[bytes]:
    started = messages("") | {"content": [], "stop_reason": None}
    yield event({"type": "message_start", "message": started}, "message_start")
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    yield event(
        {"type": "content_block_start", "index": 0, "content_block": thinking},
        "content_block_start",
    )
    thought = {"type": "thinking_delta", "thinking": "You prefer vim."}
    yield event(
        {"type": "content_block_delta", "index": 0, "delta": thought}, "content_block_delta"
    )
    yield event({"type": "content_block_stop", "index": 0}, "content_block_stop")
    yield event({"type": "ping"}, "ping")
    block = {"type": "text", "text": ""}
    yield event(
        {"type": "content_block_start", "index": 1, "content_block": block}, "content_block_start"
    )
    for word in text.split(" "):
        delta = {"type": "text_delta", "text": word + " "}
        yield event(
            {"type": "content_block_delta", "index": 1, "delta": delta}, "content_block_delta"
        )
    yield event({"type": "content_block_stop", "index": 1}, "content_block_stop")
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    yield event(
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}}, "message_delta"
    )
    yield event({"type": "message_stop"}, "message_stop")


def responses(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "scripted",
        "status": "completed",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            },
        ],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    }


def responses_stream(text: str) -> Iterator[bytes]:
    empty = responses("") | {"status": "in_progress", "output": []}
    yield event(
        {"type": "response.created", "sequence_number": 0, "response": empty}, "response.created"
    )
    for number, word in enumerate(text.split(" "), 1):
        delta = {
            "type": "response.output_text.delta",
            "sequence_number": number,
            "item_id": "msg_1",
            "output_index": 1,
            "content_index": 0,
            "delta": word + " ",
            "logprobs": [],
        }
        yield event(delta, "response.output_text.delta")
    done = {"type": "response.completed", "sequence_number": 99, "response": responses(text)}
    yield event(done, "response.completed")


WHOLES: dict[str, Callable[[str], dict[str, Any]]] = {
    "/v1/chat/completions": chat,
    "/v1/messages": messages,
    "/v1/responses": responses,
}
STREAMS: dict[str, Callable[[str], Iterator[bytes]]] = {
    "/v1/chat/completions": chat_stream,
    "/v1/messages": messages_stream,
    "/v1/responses": responses_stream,
}


def zipped(body: bytes) -> bytes:
    """A whole answer, compressed."""
    return whole(gzip.compress(body), "content-type: application/json", "content-encoding: gzip")


@contextmanager
def scripted_model(port: int = 0) -> Iterator[Model]:
    """A model server in a thread of its own."""
    model = Model()
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    stopping = asyncio.Event()

    async def run() -> None:
        server = await asyncio.start_server(model.serve, "127.0.0.1", port)
        model.port = server.sockets[0].getsockname()[1]
        ready.set()
        await stopping.wait()
        server.close()
        for writer in list(model._open):
            writer.transport.abort()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield model
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(60)
        loop.close()
