"""`make demo-recall`: say something in one session, and be remembered in the next.

The model's replies are scripted. Everything else is real: the proxy, what it learns and recalls,
the memories in the plugin, the dashboard.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

import httpx
from rich.console import Console
from rich.text import Text

from demo.model import scripted_model

_LISTENING = re.compile(r"listening.*address=(\S+)")
_SECONDS = 90
_KEY = "ada"
_MANAGEMENT = {"authorization": "Bearer test-management"}


@contextmanager
def recall(directory: Path, model: str) -> Iterator[str]:
    """The real command on an embedded PostgreSQL, with the reference plugin as its child."""
    command = [str(Path(sys.executable).with_name("memory-recall")), "--dev-auth"]
    command += ["--listen", "127.0.0.1:0", "--data-dir", str(directory), "--upstream-url", model]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MEMORY_")}
    process = subprocess.Popen(  # noqa: S603 - our own command
        command, stderr=subprocess.PIPE, text=True, env=environment
    )
    log = cast(IO[str], process.stderr)
    lines: list[str] = []
    address = ""
    try:
        for line in log:
            lines.append(line)
            if found := _LISTENING.search(line):
                address = found[1]
                break
        if not address:
            raise RuntimeError("memory-recall did not start:\n" + "".join(lines))
        # Nothing else reads the log, and a full pipe would block the server.
        threading.Thread(target=log.read, daemon=True).start()
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


class Story:
    """One person, two sessions."""

    def __init__(self, console: Console, url: str) -> None:
        self._console = console
        self._http = httpx.Client(base_url=url, timeout=30)

    def chapter(self, title: str) -> None:
        self._console.print()
        self._console.rule(Text(title, style="bold cyan"), align="left", style="cyan")

    def talk(self, session: str, text: str) -> None:
        """One message as any OpenAI client sends it."""
        answer = self._http.post(
            "/v1/chat/completions",
            json={"model": "scripted", "messages": [{"role": "user", "content": text}]},
            headers={"authorization": f"Bearer {_KEY}", "x-session-id": session},
        )
        answer.raise_for_status()
        said = answer.json()["choices"][0]["message"]["content"]
        self._console.print(f"  you    {text}", highlight=False, markup=False)
        self._console.print(f"  model  {said}", highlight=False, markup=False)
        injected = answer.headers["x-memory-injected"]
        self._console.print(f"         memories in this request: {injected}", style="dim")

    def wait_for(self, count: int) -> None:
        """Wait until that many memories are stored: learning continues after the answer."""
        deadline = time.monotonic() + _SECONDS
        while len(self.memories()) < count:
            if time.monotonic() > deadline:
                raise RuntimeError("nothing was learned")
            time.sleep(0.1)

    def memories(self) -> list[dict[str, str]]:
        shown = self._http.get(f"/api/memory?apiKeyId={_KEY}", headers=_MANAGEMENT)
        shown.raise_for_status()
        rows: list[dict[str, str]] = shown.json()["data"]
        return rows

    def show(self) -> None:
        for row in self.memories():
            self._console.print(
                f"  {row['key']:32} {row['content']}", highlight=False, markup=False
            )


def main(*, wait: bool = True) -> None:
    """Run the demo; the dashboard stays open until Ctrl-C."""
    console = Console()
    with (
        tempfile.TemporaryDirectory(prefix="recall-") as directory,
        scripted_model() as model,
        recall(Path(directory), model) as url,
    ):
        story = Story(console, url)
        story.chapter("Monday: you say something about yourself")
        story.talk("monday", "I prefer dark mode in my editor. I don't like tabs.")
        story.wait_for(2)
        story.chapter("What was learned")
        story.show()
        story.chapter("Tuesday: a new session, without Monday's messages")
        story.talk("tuesday", "Which mode should my editor have?")
        story.talk("tuesday", "What is the capital of France?")
        console.print()
        console.print(f"dashboard: {url}/dashboard/memory")
        console.print("management token: test-management")
        if wait:
            console.print("Ctrl-C stops everything")
            with suppress(KeyboardInterrupt):
                signal.pause()


if __name__ == "__main__":
    main(wait=sys.stdin.isatty())
