"""Serves the local model as OpenAI's `/v1/embeddings`, in a process of its own.

    python -m language.embedding_server --listen 127.0.0.1:8040

A request with a single text takes precedence over batches.
"""

import argparse
import base64
import json
import os
import signal
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MAX_BODY = 8 * 2**20
MAX_TEXTS = 256
# A batch is processed in slices of this many texts, each taking a tenth of a second.
_PIECE = 4


class Turns:
    """A lock that gives precedence to questions."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy = False
        self._questions = 0

    @contextmanager
    def take(self, *, is_question: bool) -> Iterator[None]:
        """Hold the lock while the block runs."""
        with self._changed:
            self._questions += is_question
            self._changed.wait_for(lambda: not self._busy and (is_question or not self._questions))
            self._questions -= is_question
            self._busy = True
        try:
            yield
        finally:
            with self._changed:
                self._busy = False
                self._changed.notify_all()


class EmbeddingServer(ThreadingHTTPServer):
    """Serves the model. Each connection has a thread; one thread at a time uses the model."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int]) -> None:
        from language.minilm import MiniLM

        self._model = MiniLM()
        self._turns = Turns()
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Ignore clients that disconnect; log only the type of other errors."""
        error = sys.exception()
        if not isinstance(error, OSError):
            sys.stderr.write(f"embedding server: {type(error).__name__}\n")

    def embed(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text."""
        vectors: list[list[float]] = []
        for start in range(0, len(texts), _PIECE):
            with self._turns.take(is_question=len(texts) == 1):
                vectors += self._model.embed(texts[start : start + _PIECE]).tolist()
        return vectors


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    server: EmbeddingServer

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self._answer(200, {"object": "list", "data": [{"id": _name(), "object": "model"}]})
        else:
            self._refuse(404, "There is only /v1/embeddings and /v1/models.")

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MAX_BODY:
            self.close_connection = True
            self._refuse(413, f"The body must have a length of at most {MAX_BODY} bytes.")
            return
        content = self.rfile.read(int(length))
        if self.path != "/v1/embeddings":
            self._refuse(404, "There is only /v1/embeddings and /v1/models.")
            return
        try:
            texts, as_bytes = _asked(content)
        except ValueError as error:
            self._refuse(400, str(error))
            return
        rows = [
            {"object": "embedding", "index": index, "embedding": _packed(it) if as_bytes else it}
            for index, it in enumerate(self.server.embed(texts))
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        self._answer(200, {"object": "list", "model": _name(), "data": rows, "usage": usage})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing: requests are private."""

    def _refuse(self, status: int, message: str) -> None:
        self._answer(status, {"error": {"message": message, "type": "invalid_request_error"}})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _asked(content: bytes) -> tuple[list[str], bool]:
    """The texts of a request, and whether it wants vectors in base64.

    Raises ValueError, with a message for the client.
    """
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("The body must be JSON.") from None
    asked = body.get("input") if isinstance(body, dict) else None
    texts = [asked] if isinstance(asked, str) else asked
    if not isinstance(texts, list) or not texts or not all(isinstance(it, str) for it in texts):
        raise ValueError("input: must be a string or a list of strings")
    if len(texts) > MAX_TEXTS:
        raise ValueError(f"input: must have at most {MAX_TEXTS} texts")
    shape = body.get("encoding_format") or "float"
    if shape not in ("float", "base64"):
        raise ValueError("encoding_format: must be float or base64")
    return texts, shape == "base64"


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _name() -> str:
    from language.minilm import NAME

    return NAME


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m language.embedding_server", description=__doc__
    )
    parser.add_argument("--listen", default="127.0.0.1:8040", help="host:port (127.0.0.1:8040)")
    parser.add_argument("--check", action="store_true", help="check the model's files and exit")
    arguments = parser.parse_args()
    host, _, port = arguments.listen.rpartition(":")
    # Leave the other cores to other servers. NumPy reads this when it is first imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from language.minilm import MiniLM, ModelMissing

    try:
        if arguments.check:
            MiniLM()
            return
        server = EmbeddingServer((host or "127.0.0.1", int(port)))
    except (ModelMissing, ImportError, OSError, ValueError) as error:
        sys.exit(f"embedding server: {error}")
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    sys.stderr.write(f"serving {_name()} on http://{host}:{server.server_port}/v1\n")
    sys.stderr.flush()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


if __name__ == "__main__":
    main()
