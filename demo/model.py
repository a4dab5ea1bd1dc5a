"""A scripted model behind OpenAI's API: `python -m demo.model 127.0.0.1:5081`.

Its answers are what the demo and the docs need: what it was told about the user, or thanks.
"""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Model(BaseHTTPRequestHandler):
    """Answers `POST /v1/chat/completions`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            texts = _texts(body)
        except ValueError as error:
            refusal = {"message": str(error), "type": "invalid_request_error"}
            self._answer(400, {"error": refusal | {"param": "messages", "code": None}})
            return
        message = {"role": "assistant", "content": _reply(texts)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._answer(
            200,
            {
                "id": "scripted",
                "object": "chat.completion",
                "created": 0,
                "model": "scripted",
                "choices": [choice],
            },
        )

    def _answer(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Log nothing: messages are private."""


def _texts(body: bytes) -> list[str]:
    """The text of each message; raises ValueError with what is wrong with the request."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("The body must be JSON.") from None
    messages = request.get("messages") if isinstance(request, dict) else None
    if not isinstance(messages, list) or not messages:
        raise ValueError("messages: must be a list of at least one message")
    return [_text(message) for message in messages]


def _text(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _reply(texts: list[str]) -> str:
    known = [
        line.removeprefix("- ")
        for text in texts
        for line in text.splitlines()
        if line.startswith("- ")
    ]
    if not texts[-1].rstrip().endswith("?"):
        return "Thank you, I will remember that."
    return f"You told me: {'; '.join(known)}." if known else "I do not know that about you."


@contextmanager
def scripted_model() -> Iterator[str]:
    """The base URL of a model in this process, on a free port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    host, _, port = sys.argv[1].rpartition(":")
    with ThreadingHTTPServer((host, int(port)), Model) as server:
        server.serve_forever()
