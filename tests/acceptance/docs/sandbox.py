"""Runs the commands of a page as a reader would type them, in one shell, in an empty directory.

What a test cannot use as it is on the page is replaced: addresses by free ports, databases by
existing ones, the timeouts of the harness and of servers and recall's time for retrieval by longer
ones, because a test machine may be busy. Everything else runs literally.
"""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from postgres.programs import program
from tests import timeouts
from tests.unit.docs.pages import ROOT, Fence, Page
from tests.waiting import SECONDS

LEGACY_URL = "postgres://app:secret@legacy-db/app"
MEMORY_URL = "postgres://memory:secret@memory-db/memory"
RESTORED_URL = "postgres://memory:secret@memory-db/restored"
PLUGIN_ADDRESSES = ("127.0.0.1:9100", "localhost:9100", "your-plugin:9100")
STANDIN_ADDRESS = "127.0.0.1:5081"
# By their address on the pages: the variable that says where each of our other servers listens.
SERVERS = {
    "127.0.0.1:8010": "MEMORY_GATEWAY_LISTEN_ADDR",
    "127.0.0.1:8020": "MEMORY_RECALL_LISTEN_ADDR",
    "127.0.0.1:8030": "MEMORY_CONVERSATIONS_LISTEN_ADDR",
}
_RECALL_IS_UP = "until curl -sf 127.0.0.1:8020/health > /dev/null; do sleep 0.5; done"
_RECALL_IS_PATIENT = (
    "curl -sf -X PUT 127.0.0.1:8020/api/settings/memory -H 'Authorization: Bearer test-management'"
    """ -d '{"retrievalBudgetMs": 5000}' > /dev/null"""
)
# What differs from run to run. Counts and exit codes do not, and are compared.
_VARIES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|(?<=\"score\":)[\d.]+|[\d.,]+ s, [\d.,]+ rows/s")
RUNNABLE = ("bash", "console", "python", "yaml")


@dataclass(frozen=True)
class Printed:
    """What a `console` block shows after one of its commands, and what the command printed."""

    place: str
    shown: str
    printed: str

    def agrees(self) -> bool:
        """The same words and counts in the same order; `…` stands for anything."""
        parts = re.split(r"\s*…\s*", _steady(self.shown))
        pattern = r"[\s\S]*".join(re.escape(part) for part in parts)
        return re.fullmatch(pattern, _steady(self.printed)) is not None


def _steady(text: str) -> str:
    return " ".join(_VARIES.sub("~", text).split())


class Sandbox:
    """An empty directory with the repository in it, and addresses that nobody else uses."""

    def __init__(
        self, directory: Path, databases: dict[str, str], stopping_seconds: float = SECONDS
    ) -> None:
        self.directory = directory
        self._stopping_seconds = stopping_seconds
        for name in (
            "docs",
            "contract",
            "harness",
            "plugin_postgres",
            "postgres",
            "serving",
            "demo",
            "Makefile",
            ".venv",
        ):
            (directory / name).symlink_to(ROOT / name)
        self._ports = _free_ports(2 + len(SERVERS))
        plugin, standin, *others = (f"127.0.0.1:{port}" for port in self._ports)
        self._replace = {
            _RECALL_IS_UP: f"{_RECALL_IS_UP}; {_RECALL_IS_PATIENT}",
            **dict.fromkeys(PLUGIN_ADDRESSES, plugin),
            STANDIN_ADDRESS: standin,
            **dict(zip(SERVERS, others, strict=True)),
            **databases,
            "--port 9100": f"--port {plugin.rpartition(':')[2]}",
            "mktemp -d": 'mktemp -d "$SANDBOX/XXXXXX"',
            "memory-harness run ": "memory-harness run --timeout 60 ",
            "--memory-plugin-url ": "--memory-plugin-timeout 60 --memory-plugin-url ",
            **{f"--retry {seconds} ": "--retry 500 " for seconds in (20, 30, 60)},
        }
        self._environment = {
            **os.environ,
            **timeouts.ENVIRONMENT,
            # Our commands, then psql and pg_dump of the embedded server's own version.
            "PATH": os.pathsep.join(
                [str(Path(sys.executable).parent), str(program("psql").parent), os.environ["PATH"]]
            ),
            "MEMORY_PLUGIN_LISTEN_ADDR": plugin,
            "STANDIN_LISTEN_ADDR": standin,
            **dict(zip(SERVERS.values(), others, strict=True)),
            # The developer's own agent and notes are not used.
            "MEMORY_AGENT_HOME": str(directory / ".beaver"),
            "SANDBOX": str(directory),
            "COLUMNS": "100",
            "NO_COLOR": "1",
        }

    def run(self, page: Page, seconds: float) -> list[Printed]:
        """Run all blocks of the page in order; raises AssertionError at the first that fails.

        A page that leaves a server running fails too: it would answer in place of the next one's.
        """
        fences = [f for f in page.fences if f.language in RUNNABLE and not f.static]
        blocks = [_script(fence) for fence in fences]
        self.execute(
            "\n".join([*blocks, _nothing_listens(self._ports, self._stopping_seconds)]), seconds
        )
        consoles = [fence for fence in fences if fence.language == "console"]
        return [printed for fence in consoles for printed in self._printed(fence)]

    def execute(self, script: str, seconds: float, **environment: str) -> None:
        """Run a script; every line that begins with @@ in its output says where it is."""
        script = _replaced(script, self._replace)
        _execute(script, self.directory, {**self._environment, **environment}, seconds)

    def _printed(self, fence: Fence) -> list[Printed]:
        back = {new: old for old, new in reversed(self._replace.items())}
        return [
            Printed(
                f"{fence}: $ {command}",
                shown,
                _replaced((self.directory / _output(fence, number)).read_text(), back),
            )
            for number, (command, shown) in enumerate(_commands(fence))
        ]


def _execute(script: str, directory: Path, environment: dict[str, str], seconds: float) -> None:
    log = directory / "log"
    with log.open("wb") as output:
        shell = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        code = shell.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        _end(shell.pid)
        shell.wait()
        for note in directory.glob("**/plugin.pid"):  # what a command of the harness started anew
            with suppress(ProcessLookupError):
                _end(os.getpgid(int(note.read_text())))
    text = log.read_text(errors="replace")
    [*_, last] = re.findall(r"^@@ (.*)$", text, re.MULTILINE) or ["nothing"]
    assert code == 0, f"{last} failed ({'timeout' if code is None else code}):\n{text[-4000:]}"


def _end(group: int) -> None:
    """Stop what the page started in the background, gracefully and then by force."""
    for sign, patience in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(group, sign)
            _wait_for_group(group, patience)
        except ProcessLookupError:
            return


def _wait_for_group(group: int, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        os.killpg(group, 0)
        time.sleep(0.05)


def _script(fence: Fence) -> str:
    mark = f"echo {shlex.quote(f'@@ {fence}')} >&2"
    if fence.file is not None:
        name = shlex.quote(fence.file)
        into = ">>" if "append" in fence.words else ">"
        return f"{mark}\nmkdir -p $(dirname {name})\n{_heredoc(f'cat {into} {name}', fence.text)}"
    if fence.language == "bash":
        return f"{mark}\n{fence.text}"
    if fence.language == "python":
        return f"{mark}\n{_heredoc('python -', fence.text)}"
    if fence.language == "console":
        return f"{mark}\n{_console(fence)}"
    return ""


def _console(fence: Fence) -> str:
    """Each command with its output collected; the status is there for a following `echo $?`."""
    lines = ["set +e"]
    for number, (command, _) in enumerate(_commands(fence)):
        # The same file from wherever the commands of the page have changed to.
        output = f'"$SANDBOX"/{_output(fence, number)}'
        lines += [f"(exit ${{status:-0}}); {command} > {output} 2>&1", "status=$?", f"cat {output}"]
    return "\n".join([*lines, "set -e"])


def _commands(fence: Fence) -> list[tuple[str, str]]:
    """Each command of a `console` block with what the block shows after it."""
    return re.findall(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", fence.text, re.MULTILINE)


def _output(fence: Fence, number: int) -> str:
    return f"printed-{fence.line}-{number}"


def _nothing_listens(ports: list[int], seconds: float) -> str:
    """Waits for servers that were told to stop."""
    addresses = " ".join(f"/dev/tcp/127.0.0.1/{port}" for port in ports)
    return f"""
echo '@@ stopping what the page has started' >&2
for _ in {{1..{round(seconds * 10)}}}; do
  left=$(for it in {addresses}; do (: <> $it) 2> /dev/null && echo $it || true; done)
  [ -z "$left" ] && wait && exit 0
  sleep 0.1
done
echo "the page leaves a server running: $left" >&2
exit 1
"""


def _heredoc(command: str, text: str) -> str:
    return f"{command} <<'END_OF_BLOCK'\n{text}END_OF_BLOCK"


def _replaced(text: str, replace: dict[str, str]) -> str:
    for old, new in replace.items():
        text = text.replace(old, new)
    return text


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports
