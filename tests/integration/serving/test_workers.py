"""Serving processes: one that cannot start is reported as a failure, not ignored."""

import subprocess
import sys
from pathlib import Path

import pytest


def printed_by(folder: Path, script: str, *arguments: str) -> list[str]:
    """What a process of its own prints: workers are started from a file."""
    file = folder / "script.py"
    file.write_text(script)
    done = subprocess.run(
        [sys.executable, str(file), *arguments],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


BROKEN = """
import socket, sys
import uvicorn
from serving import workers
from serving.errors import ServerFailed

async def broken(scope, receive, send):
    raise RuntimeError("no start")

def create():
    return broken

if __name__ == "__main__":
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    bound.listen()
    configuration = uvicorn.Config(create, factory=True, lifespan="on", log_level="critical")
    try:
        if sys.argv[1] == "1":
            workers.run(configuration, [bound])
        else:
            workers.run_several(configuration, create, int(sys.argv[1]), [bound])
    except ServerFailed:
        print("failed")
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_that_cannot_start_reports_it(workers: str, tmp_path: Path) -> None:
    assert printed_by(tmp_path, BROKEN, workers) == ["failed"]


STOPPED_AT_ONCE = """
import os, signal, socket
import uvicorn
from serving import workers
from serving.protocol import Protocol

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        os.kill(os.getpid(), signal.SIGTERM)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"answered"})

bound = socket.socket()
bound.bind(("127.0.0.1", 0))
bound.listen(64)
clients = [socket.create_connection(bound.getsockname()) for _ in range(40)]
for client in clients:
    client.sendall(b"GET / HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n")
workers.run(
    uvicorn.Config(app, http=Protocol, loop="uvloop", lifespan="on", log_level="critical"),
    [bound],
)
print(sum(b"answered" in client.makefile("rb").read() for client in clients))
"""


def test_clients_that_connected_before_the_end_are_answered(tmp_path: Path) -> None:
    assert printed_by(tmp_path, STOPPED_AT_ONCE) == ["40"]


STOPPED_BEFORE_THE_LOOP = """
import os, signal, socket, sys, warnings
import uvicorn
from serving import workers
from serving.service import stop_on_signals

warnings.simplefilter("error")
sys.unraisablehook = lambda told: print(told.exc_value)

class Configuration(uvicorn.Config):
    def get_loop_factory(self):
        os.kill(os.getpid(), signal.SIGTERM)
        return super().get_loop_factory()

async def app(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})

stop_on_signals()
workers.run(Configuration(app, loop="uvloop", lifespan="on", log_level="critical"), [])
print("stopped")
"""


def test_a_signal_before_the_event_loop_exists_stops_the_server_gracefully(
    tmp_path: Path,
) -> None:
    assert printed_by(tmp_path, STOPPED_BEFORE_THE_LOOP) == ["stopped"]


COLLECTING = """
import gc, os, signal, socket
import uvicorn
from serving import workers
from serving.protocol import Protocol

answered = []

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    head = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    await send(head)
    await send({"type": "http.response.body", "body": b"ok"})
    answered.append(200)
    if len(answered) == 1:
        gc.collect()
        gc.disable()
    if len(answered) == 100:
        print(gc.collect(), gc.get_freeze_count() > 1000)
        os.kill(os.getpid(), signal.SIGTERM)

bound = socket.socket()
bound.bind(("127.0.0.1", 0))
bound.listen()
client = socket.create_connection(bound.getsockname())
client.sendall(b"GET / HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n" * 100)
workers.run(
    uvicorn.Config(app, http=Protocol, loop="uvloop", lifespan="on", log_level="critical"),
    [bound],
)
"""


def test_requests_leave_no_cycles_that_the_garbage_collector_would_have_to_find(
    tmp_path: Path,
) -> None:
    assert printed_by(tmp_path, COLLECTING) == ["0 True"]


SIGNALLED_WHILE_PYTHON_ENDS = """
import os, signal
from contextlib import nullcontext
from dataclasses import dataclass
from serving.service import Service
from serving.settings import ServerSettings

@dataclass(frozen=True)
class Settings(ServerSettings):
    env_prefix = "TOY_"

class Last:
    # Called when Python has no signal handlers any more.
    def __del__(self, kill=os.kill, own=os.getpid(), orders=(signal.SIGINT, signal.SIGTERM)):
        for order in orders:
            kill(own, order)

async def app(scope, receive, send):
    await receive()
    os.kill(os.getpid(), signal.SIGTERM)
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})

last = Last()
service = Service("toy", "A toy.", "toy", Settings, nullcontext, lambda settings: app)
service.serve(Settings(listen="127.0.0.1:0"))
print("stopped")
"""


def test_a_signal_while_the_process_ends_changes_nothing(tmp_path: Path) -> None:
    assert printed_by(tmp_path, SIGNALLED_WHILE_PYTHON_ENDS) == ["stopped"]


NO_MEMORY = """
import os, signal, socket, sys, threading, time
import uvicorn
from serving import workers
from serving.errors import ServerFailed

async def app(scope, receive, send):
    pass

def create():
    return app

if __name__ == "__main__":
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    bound.listen()
    started = []
    start = workers._Process.start

    def start_if_there_is_memory(process):
        started.append(process)
        if len(started) == int(sys.argv[1]):
            raise OSError(12, "Cannot allocate memory")
        start(process)

    def disturb():
        while len(started) < 2 or started[1].process.pid is None:
            time.sleep(0.05)
        started[0].process.kill()
        while len(started) < 4 or started[3].process.pid is None:
            time.sleep(0.05)
        print("replaced", flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

    workers._Process.start = start_if_there_is_memory
    threading.Thread(target=disturb, daemon=True).start()
    configuration = uvicorn.Config(create, factory=True, lifespan="off", log_level="critical")
    try:
        workers.run_several(configuration, create, 2, [bound])
    except ServerFailed as error:
        print(error)
    print("ended")
"""


@pytest.mark.parametrize(
    ("process_without", "told"),
    [
        ("2", "cannot start a worker (Cannot allocate memory); use fewer with --workers"),
        ("3", "replaced"),
    ],
)
def test_without_memory_for_a_worker_the_others_end_or_keep_serving(
    process_without: str, told: str, tmp_path: Path
) -> None:
    assert printed_by(tmp_path, NO_MEMORY, process_without) == [told, "ended"]
