"""The commands that reproduce a failure: few, and correct when a shell runs them."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from harness.curl import Caller, body_of, repeat
from harness.exchange import Exchange, Request

HERE = "custom:conformance.0123456789ab.1"
THERE = "custom:conformance.0123456789ab.2"
MADE = "018f3c2e-7c4b-4d5a-9b1e-2f6a4c8d0e11"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
LOCAL = Caller("http://localhost:9100")

# Replaces curl: prints each call, one argument per line, and answers like a plugin.
CURL = """
curl() {
  for argument in "$@"; do printf '%s\\n' "$argument" >> "$CALLS"; done
  printf -- '--\\n' >> "$CALLS"
  echo '{"id": "made-by-the-plugin", "namespace": "x"}'
}
"""


class Story:
    """Exchanges that follow each other, a tenth of a second apart."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def add(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        status: int = 200,
        answer: object = None,
        pause: float = 0.1,
        at_once: bool = False,
    ) -> None:
        last = self.exchanges[-1] if self.exchanges else None
        sent = 0.0 if last is None else last.sent if at_once else last.received + pause
        raw = body if isinstance(body, bytes) or body is None else body_of(body)
        request = Request(method, path, raw, {"Content-Type": "application/json"})
        at = NOON + timedelta(seconds=sent)
        received = sent + 0.05
        self.exchanges.append(
            Exchange(request, at, sent, received, status, httpx.Headers(), body_of(answer))
        )

    def put(self, name: str) -> None:
        self.add("PUT", f"/v1/namespaces/{name}", {"kind": "custom"})

    def write(self, name: str, content: str, memory_id: str = MADE, **extra: object) -> None:
        at_once = bool(extra.pop("at_once", False))
        body = {"content": content, **extra}
        answer = {"id": memory_id, "namespace": name}
        path = f"/v1/namespaces/{name}/memories"
        self.add("POST", path, body, status=201, answer=answer, at_once=at_once)

    def search(self, *names: str, pause: float = 0.1) -> None:
        self.add("POST", "/v1/search", {"namespaces": list(names)}, pause=pause)

    def commands(self, caller: Caller = LOCAL, waits: Sequence[float] = ()) -> list[str]:
        return repeat(self.exchanges, caller, waits)


def run_in_shell(commands: list[str], calls: str) -> list[list[str]]:
    """The arguments of every call of curl."""
    bash = shutil.which("bash")
    assert bash is not None
    script = CURL + "sleep() { :; }\n" + "\n".join(commands)
    environment = {"CALLS": calls, "PATH": "/usr/bin:/bin"}
    subprocess.run([bash, "-euc", script], env=environment, check=True)
    shown = Path(calls).read_text()
    return [call.strip("\n").split("\n") for call in shown.split("--\n") if call.strip()]


def test_only_what_affects_the_failure_is_repeated() -> None:
    story = Story()
    story.put(HERE)
    story.put(THERE)
    story.write(THERE, "elsewhere", "11111111-1111-4111-8111-111111111111")
    story.write(HERE, "here")
    story.search(THERE)
    story.add("GET", "/v1/health")
    story.search(HERE)
    commands = story.commands()
    assert len(commands) == 3
    assert not any(THERE in command for command in commands)
    assert commands[-1].startswith("curl -sS -i -X POST 'http://localhost:9100/v1/search'")


def test_a_generated_id_is_taken_from_the_answer(tmp_path: Path) -> None:
    story = Story()
    story.put(HERE)
    story.write(HERE, "here")
    story.add("DELETE", f"/v1/memories/{MADE}", {"requested_by_namespace": HERE}, status=500)
    calls = run_in_shell(story.commands(), f"{tmp_path}/calls")
    assert calls[-1][4] == "http://localhost:9100/v1/memories/made-by-the-plugin"


def test_a_body_reaches_the_plugin_as_it_was_sent(tmp_path: Path) -> None:
    story = Story()
    awkward = 'it\'s "quoted" $HOME `id` \\n % 記憶 !'
    story.put(HERE)
    story.write(HERE, awkward)
    (_, call) = run_in_shell(story.commands(), f"{tmp_path}/calls")
    assert json.loads(call[call.index("--data-binary") + 1]) == {"content": awkward}


def test_a_time_is_relative_to_now(tmp_path: Path) -> None:
    story = Story()
    story.put(HERE)
    story.write(HERE, "x", expires_at="2026-01-31T12:00:03.15Z", made="2001-01-01T00:00:00Z")
    (command,) = story.commands()[1:]
    assert "date -u -d '+3 seconds'" in command
    body = json.loads(run_in_shell([command], f"{tmp_path}/calls")[0][-1])
    assert body["expires_at"].endswith("Z")
    assert body["expires_at"] > NOON.isoformat()
    assert body["made"] == "2001-01-01T00:00:00Z"


def test_a_wait_is_reproduced() -> None:
    story = Story()
    story.put(HERE)
    story.search(HERE, pause=2.5)
    assert story.commands(waits=[1.0])[1] == "sleep 2.5"


def test_a_delay_of_a_slow_machine_is_not_reproduced() -> None:
    story = Story()
    story.put(HERE)
    story.search(HERE, pause=2.5)
    assert len(story.commands()) == 2


def test_requests_that_count_up_are_a_loop(tmp_path: Path) -> None:
    story = Story()
    story.put(HERE)
    for number in range(20):
        story.write(HERE, f"note {number}", f"{number:08}-0000-4000-8000-000000000000")
    story.search(HERE)
    commands = story.commands()
    assert len(commands) == 3
    assert commands[1].startswith("for n in $(seq 0 19); do curl")
    bodies = [call[-1] for call in run_in_shell(commands, f"{tmp_path}/calls")[1:-1]]
    assert [json.loads(body)["content"] for body in bodies] == [f"note {n}" for n in range(20)]


def test_concurrent_requests_are_repeated_concurrently() -> None:
    story = Story()
    story.put(HERE)
    story.write(HERE, "same", id=MADE)
    for _ in range(9):
        story.write(HERE, "same", id=MADE, at_once=True)
    story.search(HERE)
    (loop,) = [command for command in story.commands() if command.startswith("for")]
    assert loop.startswith("for n in $(seq 1 10); do curl")
    assert loop.endswith(" & done; wait")


def test_a_long_body_is_compressed() -> None:
    story = Story()
    story.put(HERE)
    story.write(HERE, "memory " * 100_000)
    command = story.commands()[-1]
    assert len(command) < 5_000
    assert "--data-binary @-" in command
    unpack = command.partition(" | ")[0]
    body = subprocess.run(["/bin/sh", "-c", unpack], capture_output=True, check=True).stdout
    assert json.loads(body) == {"content": "memory " * 100_000}


def test_a_token_is_never_shown() -> None:
    story = Story()
    story.search(HERE)
    (command,) = story.commands(Caller("http://localhost", "/run/plugin.sock", token=True))
    assert '-H "Authorization: Bearer $MEMORY_PLUGIN_TOKEN"' in command
    assert "--unix-socket /run/plugin.sock" in command


def test_without_an_address_the_reader_gives_one() -> None:
    story = Story()
    story.search(HERE)
    (command,) = story.commands(Caller("$MEMORY_PLUGIN_URL"))
    assert "\"$MEMORY_PLUGIN_URL\"'/v1/search'" in command


def test_without_requests_there_are_no_commands() -> None:
    assert repeat([], LOCAL) == []
