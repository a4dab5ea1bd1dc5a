"""`make demo-chat`: serve the page until Ctrl-C."""

import sys
import tempfile
from pathlib import Path

import uvicorn

from demo.chat.page import application
from demo.chat.server import served

PORT = 8040

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="demo-chat-") as folder:
        Path(folder).chmod(0o755)  # the embedded PostgreSQL may run as another user
        page = f"http://127.0.0.1:{PORT}"
        with served(Path(folder), page) as api:
            sys.stdout.write(f"Open {page} and, in a second window, {page}/?user=bob\n")
            sys.stdout.flush()
            uvicorn.run(application(api), host="127.0.0.1", port=PORT, log_level="warning")
