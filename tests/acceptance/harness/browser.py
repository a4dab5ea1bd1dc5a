"""Headless Chromium, driven over a pair of pipes with its DevTools protocol."""

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

# The numbers are Chromium's: it reads commands from 3 and writes answers and events to 4.
_FROM_US, _TO_US = 3, 4


class Page:
    """One tab; records what it logs, throws and requests."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = answers
        self._unread = b""
        self._count = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol and its result."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._count:
            self.events.append(answer)
        assert "error" not in answer, (method, answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    def open(self, path: Path, fragment: str = "") -> None:
        """Go to a local file and wait until it is loaded."""
        # From another page, so that a new fragment alone loads the file anew, too.
        for url in ("about:blank", path.as_uri() + fragment):
            self.events.clear()
            self.call("Page.navigate", url=url)
            while not any(event["method"] == "Page.loadEventFired" for event in self.events):
                self.events.append(self._read())

    def look(self, *, width: int, dark: bool = False, scripts: bool = True) -> None:
        """The reader's device: how wide it is, whether it is dark, whether scripts may run."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=844,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)

    def value(self, expression: str) -> Any:
        """What an expression is, evaluated in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression is true; the test's own timeout bounds the wait."""
        while not self.value(expression):
            pass

    def press(self, key: str) -> None:
        """A key of the keyboard, by its name."""
        codes = {"Tab": (9, ""), "Enter": (13, "\r"), " ": (32, " "), "ArrowRight": (39, "")}
        code, text = codes[key]
        stroke: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **stroke)
        self.call("Input.dispatchKeyEvent", type="keyUp", **stroke)

    def type(self, text: str) -> None:
        """Text into whatever has the focus."""
        self.call("Input.insertText", text=text)

    def complaints(self) -> list[str]:
        """What the page logged or threw since it was opened."""
        self.value("1")
        methods = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(event) for event in self.events if event["method"] in methods]

    def requests(self) -> list[str]:
        """What the page asked for since it was opened."""
        self.value("1")
        sent = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            more = os.read(self._answers, 1 << 16)
            assert more, "Chromium went away"
            self._unread += more
        message, _, self._unread = self._unread.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


@contextmanager
def chromium() -> Iterator[Page]:
    """A browser of its own, with a profile of its own, gone afterwards."""
    assert CHROMIUM is not None
    profile = tempfile.mkdtemp(prefix="mp-chromium-")
    child_in, commands = os.pipe()
    answers, child_out = os.pipe()
    # Away from the file descriptors that the child's ends get.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in (child_in, child_out)]
    os.close(child_in)
    os.close(child_out)

    def place_ends() -> None:
        os.dup2(ends[0], _FROM_US)
        os.dup2(ends[1], _TO_US)

    process = subprocess.Popen(
        [
            CHROMIUM,
            "--headless=new",
            "--remote-debugging-pipe",
            # Root may not use the sandbox, and the page is our own.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            f"--user-data-dir={profile}",
        ],
        env=os.environ | {"HOME": profile},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(_FROM_US, _TO_US),
        preexec_fn=place_ends,
        start_new_session=True,
    )
    for end in ends:
        os.close(end)
    try:
        page = Page(commands, answers)
        yield page
        page.call("Browser.close")
    finally:
        os.close(commands)
        os.close(answers)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(profile, ignore_errors=True)
