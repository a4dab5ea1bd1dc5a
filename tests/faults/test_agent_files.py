"""The agent's files under kill -9, parallel writers and full disks."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent import MemoryStore, SessionStore
from tests.faults.volume import small_volume

ROOT = Path(__file__).parents[2]

# Forks a writer, kills it in the middle of its work, checks what is left, and forks the next.
KILLING = """
import itertools, json, os, random, re, signal, sys, time
from pathlib import Path
from agent import MemoryStore

directory, kills = Path(sys.argv[1]), int(sys.argv[2])
store = MemoryStore(directory, memory_limit=10**9)
NOTE = "note {} " + "ab\\n" * 60 + "end"

def work(done):
    for number in itertools.count(len(store.entries("memory"))):
        store.add("memory", NOTE.format(number))
        os.write(done, b".")

written, left = 0, 0
for _ in range(kills):
    reader, done = os.pipe()
    child = os.fork()
    if child == 0:
        work(done)
    os.close(done)
    os.read(reader, 1)  # it is at work
    time.sleep(random.uniform(0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    answered = 1
    while more := os.read(reader, 4096):
        answered += len(more)
    os.close(reader)
    text = (directory / "MEMORY.md").read_bytes().decode()
    entries = text.split("\\n§\\n")
    assert entries == [NOTE.format(number) for number in range(len(entries))], "a torn file"
    # What was answered is there; the one that was under way is there or not.
    assert len(entries) - written in (answered, answered + 1), (len(entries), written, answered)
    written = len(entries)
    left += (directory / ".MEMORY.md.tmp").exists()
    if written > 200:
        (directory / "MEMORY.md").unlink()
        written = 0
store.add("user", "Still here.")
print(json.dumps({"left": left, "names": sorted(path.name for path in directory.iterdir())}))
"""

WRITING = """
import sys
from pathlib import Path
from agent import MemoryStore

store = MemoryStore(Path(sys.argv[1]), memory_limit=10**9)
for number in range(int(sys.argv[3])):
    store.add("memory", f"{sys.argv[2]} writes {number}")
    store.replace("memory", f"{sys.argv[2]} writes {number}", f"{sys.argv[2]} wrote {number};")
    store.add("user", "the same")
"""

# The process dies in the middle of each step of a change, as in a power failure.
DYING = """
import os, signal, sys
from pathlib import Path
from agent import MemoryStore, memory_file

step = sys.argv[2]
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
if step == "rename":
    Path.replace = die
elif step == "fsync":
    os.fsync = die
elif step == "directory":
    whole = os.fsync
    os.fsync = lambda it: die() if os.path.isdir(f"/proc/self/fd/{it}") else whole(it)
MemoryStore(Path(sys.argv[1])).add("memory", "new")
"""

FILLING = """
import json, resource, sys
from pathlib import Path
from agent import CuratedMemoryError, MemoryStore, SessionStore, SessionStoreError

directory, what = Path(sys.argv[1]), sys.argv[2]
store = MemoryStore(directory / "memory", memory_limit=10**9)
sessions = SessionStore(directory / "sessions.db")
if what == "limited":
    resource.setrlimit(resource.RLIMIT_FSIZE, (15_000, 15_000))
if what == "full":
    with open(directory / "ballast", "wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(bytes(4096))
        except OSError:
            pass
told = []
for change in (
    lambda: store.add("memory", "x" * 20_000),
    lambda: store.replace("memory", "tea", "y" * 20_000),
    lambda: [sessions.append_message("s", "user", "z" * 20_000) for _ in range(40)],
    lambda: sessions.append_event("s", "name", {"text": "z" * 200_000}),
):
    try:
        change()
        told.append("done")
    except (CuratedMemoryError, SessionStoreError) as error:
        told.append(f"{type(error).__name__}: {error}")
names = sorted(path.name for path in (directory / "memory").iterdir())
history = [message["content"][:5] for message in sessions.history("s")]
sessions.close()
print(json.dumps({"told": told, "entries": store.entries("memory"), "names": names,
                  "history": history}))
"""


def run(code: str, *arguments: str, before: Sequence[str] = (), seconds: float = 100.0) -> str:
    done = subprocess.run(
        [*before, sys.executable, "-c", code, *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_writer_killed_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    told = json.loads(run(KILLING, str(tmp_path), "60"))
    assert set(told["names"]) - {".MEMORY.md.tmp"} <= {"MEMORY.md", "USER.md"}


@pytest.mark.slow
def test_a_writer_killed_a_thousand_times(tmp_path: Path) -> None:
    told = json.loads(run(KILLING, str(tmp_path), "1000", seconds=600))
    assert told["left"] > 0, "no kill came in the middle of a write"


@pytest.mark.parametrize(
    ("step", "text"), [("fsync", "old"), ("rename", "old"), ("directory", "old\n§\nnew")]
)
def test_a_writer_killed_at_each_step_leaves_a_whole_file(
    tmp_path: Path, step: str, text: str
) -> None:
    store = MemoryStore(tmp_path)
    store.add("memory", "old")
    done = subprocess.run([sys.executable, "-c", DYING, str(tmp_path), step], cwd=ROOT, check=False)
    assert done.returncode == -9
    assert (tmp_path / "MEMORY.md").read_text() == text
    store.add("memory", "newer")
    assert store.entries("memory") == [*text.split("\n§\n"), "newer"]
    assert [path.name for path in tmp_path.iterdir()] == ["MEMORY.md"]


def test_parallel_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    names, count = ("ada", "bob", "eve", "joe"), 12
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITING, str(tmp_path), name, str(count)], cwd=ROOT)
        for name in names
    ]
    assert [writer.wait(timeout=100) for writer in writers] == [0] * len(names)
    store = MemoryStore(tmp_path)
    expected = {f"{name} wrote {number};" for name in names for number in range(count)}
    assert set(store.entries("memory")) == expected
    assert len(store.entries("memory")) == len(expected)
    assert store.entries("user") == ["the same"]


def prepare(directory: Path, before: Sequence[str] = ()) -> None:
    code = """
import sys
from pathlib import Path
from agent import MemoryStore, SessionStore
directory = Path(sys.argv[1])
MemoryStore(directory / "memory").add("memory", "Likes tea.")
sessions = SessionStore(directory / "sessions.db")
sessions.append_message("s", "user", "hello")
sessions.close()
"""
    run(code, str(directory), before=before)


def check(told: dict[str, Any], reason: str) -> None:
    assert [it.partition(":")[0] for it in told["told"]] == [
        "CuratedMemoryError",
        "CuratedMemoryError",
        "SessionStoreError",
        "SessionStoreError",
    ]
    assert all(reason in it for it in told["told"][:2])
    assert told["entries"] == ["Likes tea."]
    assert told["names"] == ["MEMORY.md"]
    assert told["history"][0] == "hello"
    assert set(told["history"][1:]) <= {"zzzzz"}


def test_a_full_disk_refuses_changes_and_keeps_what_is_there(tmp_path: Path) -> None:
    directory = tmp_path / "volume"
    directory.mkdir()
    with small_volume(directory, "2m", None) as volume:
        prepare(directory, volume.entering)
        told = json.loads(run(FILLING, str(directory), "full", before=volume.entering))
        check(told, "No space left on device")
        volume.empty()
        told = json.loads(run(FILLING, str(directory), "free", before=volume.entering))
        assert told["told"][:2] == ["done", "done"]
        assert told["entries"][0][:3] == "yyy"


def test_a_limit_on_files_refuses_changes_and_keeps_what_is_there(tmp_path: Path) -> None:
    prepare(tmp_path)
    check(json.loads(run(FILLING, str(tmp_path), "limited")), "File too large")
    sessions = SessionStore(tmp_path / "sessions.db")
    assert sessions.history("s")[0] == {"role": "user", "content": "hello"}
    assert [hit.text for hit in sessions.search("hello")] == ["hello"]
    sessions.close()
