"""A scripted model behind OpenAI's API: `python -m demo.model 127.0.0.1:5081`.

Its answers are what the demo and the docs need: what it was told about the user, or thanks.
"""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model(BaseHTTPRequestHandler):
    """Answers `POST /v1/chat/completions`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", "content": _reply(request["messages"])}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps(
            {
                "id": "scripted",
                "object": "chat.completion",
                "created": 0,
                "model": "scripted",
                "choices": [choice],
            }
        ).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Log nothing: messages are private."""


def _reply(messages: list[dict[str, str]]) -> str:
    known = [
        line.removeprefix("- ")
        for message in messages
        for line in message["content"].splitlines()
        if line.startswith("- ")
    ]
    if not messages[-1]["content"].rstrip().endswith("?"):
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
