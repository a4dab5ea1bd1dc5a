"""`memory-agent chat` and `memory-agent status`, as somebody types them."""

import asyncio
import json
import os
import pty
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from agent import SessionStore
from tests.integration.agent.command import API_KEY, CHAT, ROOT, Command
from tests.integration.contract.stub import Reply
from tests.unit.agent.world import KEY

pytestmark = pytest.mark.anyio


async def test_one_question_prints_the_answer_alone(command: Command) -> None:
    command.configure()
    command.says("Miso ☕\nand Momo")
    done = await command.execute("-m", "agent", "chat", "-m", "What are my cats called?")
    assert (done.code, done.out, done.err) == (0, "Miso ☕\nand Momo\n", "")
    assert command.asked()[0][-1] == {"role": "user", "content": "What are my cats called?"}
    assert [request.path for request in command.server.requests] == [
        "/memories/search",
        CHAT,
        "/memories/add",
        "/memories/flush",
    ]


async def test_a_session_is_continued(command: Command) -> None:
    command.configure()
    command.says("one", "two")
    await command.run("chat", "-m", "first", "--session", "mine")
    await command.run("chat", "--message", "second", "--session", "mine")
    contents = [message["content"] for message in command.asked()[1][1:]]
    assert contents == ["first", "one", "second"]
    sessions = SessionStore(command.home / ".beaver" / "workspace" / "sessions.db")
    assert len(sessions.history("mine")) == 4
    sessions.close()


async def test_a_conversation_in_a_pipe(command: Command) -> None:
    command.configure()
    command.says("one", "two", "three")
    done = await command.run("chat", typed=b"first\n\n   \nsecond\n/new\nthird")
    assert (done.code, done.out) == (0, "one\ntwo\nthree\n")
    contents = [[message["content"] for message in asked[1:]] for asked in command.asked()]
    assert contents == [["first"], ["first", "one", "second"], ["third"]]


async def test_a_failed_run_is_reported_and_the_conversation_continues(command: Command) -> None:
    command.configure()
    command.says("ok")
    [well] = command.server._replies["POST", CHAT]
    command.server.answer("POST", CHAT, Reply(500, API_KEY.encode()), well)
    done = await command.run("chat", typed=b"first\nsecond\n")
    assert (done.code, done.out) == (1, "ok\n")
    assert done.err == "memory-agent: the run failed: http_error\n"


async def test_a_failed_question_ends_with_1(command: Command) -> None:
    command.configure()
    command.server.answer("POST", CHAT, Reply(hang_up=True))
    done = await command.run("chat", "-m", "hi")
    assert (done.code, done.out) == (1, "")
    assert done.err == "memory-agent: the run failed: connection\n"


async def test_a_failing_gateway_is_not_visible(command: Command) -> None:
    command.configure()
    command.says("Hello.")
    for path in ("search", "add", "flush"):
        command.server.answer("POST", f"/memories/{path}", Reply(500, KEY.encode()))
    done = await command.run("chat", "-m", "hi")
    assert (done.code, done.out, done.err) == (0, "Hello.\n", "")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"provider": None}, "provider: is required"),
        ({"memory": {"mode": "hybrid"}}, "memory.gateway: is required"),
        ({"memory": {"mode": "other"}}, "memory.mode: must be one of"),
        ({"agent": {"maxToolRounds": "x"}}, "agent.maxToolRounds: must be an integer"),
    ],
)
async def test_an_invalid_configuration_ends_with_2_and_one_line(
    command: Command, change: dict[str, Any], told: str
) -> None:
    command.configure(**change)
    done = await command.run("chat", "-m", "hi")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("memory-agent: ")
    assert told in done.err
    assert done.err.count("\n") == 1
    assert KEY not in done.err


async def test_broken_json_and_a_missing_file_end_with_2(command: Command) -> None:
    path = command.configure()
    path.write_text(path.read_text()[:-1])
    for arguments in (["status"], ["chat", "-m", "hi"], ["status", "--config", "missing.json"]):
        done = await command.run(*arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert KEY not in done.err


async def test_blank_arguments_end_with_2(command: Command) -> None:
    command.configure()
    for arguments in (["chat", "-m", " "], ["chat", "--session", ""]):
        done = await command.run(*arguments)
        assert (done.code, done.err.count("\n")) == (2, 1)


async def test_sessions_that_cannot_be_written_end_with_1(command: Command) -> None:
    command.configure(workspace=str(command.home / "file"))
    (command.home / "file").write_text("")
    done = await command.run("chat", "-m", "hi")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)


async def test_without_a_configuration_the_missing_gateway_is_reported_once(
    command: Command,
) -> None:
    command.configure(memory=None)
    command.says("Hello.")
    done = await command.execute("-m", "agent", "chat", "-m", "hi")
    assert (done.code, done.out) == (0, "Hello.\n")
    assert done.err.startswith("no memory gateway is configured")
    assert done.err.count("\n") == 1


async def test_with_nothing_configured_one_line_says_what_is_missing(command: Command) -> None:
    done = await command.execute("-m", "agent", "chat", "-m", "hi")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("memory-agent: provider: is required")
    assert done.err.count("\n") == 1
    assert not (command.home / ".beaver").exists()


async def test_a_closed_pipe_loses_only_the_answer(command: Command) -> None:
    command.configure()
    command.says("Hello.")
    reader, writer = os.pipe()
    os.close(reader)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agent", "chat", "-m", "hi",
        env=command.environment | {"PYTHONPATH": str(ROOT)}, cwd=command.home,
        stdout=writer, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    os.close(writer)
    _, err = await asyncio.wait_for(process.communicate(), 60)
    assert (process.returncode, err) == (0, b"")
    assert command.server.requests[-1].path == "/memories/flush"


async def test_config_and_workspace_can_be_named(command: Command) -> None:
    path = command.configure()
    elsewhere = path.rename(command.home / "elsewhere.json")
    command.says("Hello.")
    options = ["--config", str(elsewhere), "--workspace", "here"]
    done = await command.run("chat", "-m", "hi", *options)
    assert (done.code, done.out) == (0, "Hello.\n")
    assert (command.home / "here" / "sessions.db").exists()
    done = await command.run("chat", "-m", "hi", MEMORY_AGENT_CONFIG=str(elsewhere))
    assert done.code == 0


async def test_bytes_that_are_not_utf8_are_replaced(command: Command) -> None:
    command.configure()
    command.says("one", "two")
    await command.execute("-m", "agent", "chat", "-m", b"caf\xe9")
    await command.run("chat", typed=b"caf\xe9\n")
    assert [asked[-1]["content"] for asked in command.asked()] == ["caf\ufffd", "caf\ufffd"]


async def test_status_as_json(command: Command) -> None:
    command.configure(workspace=str(command.home / "work"))
    (command.home / "work" / "memory").mkdir(parents=True)
    (command.home / "work" / "memory" / "USER.md").write_text("one\n§\ntwo")
    done = await command.run("status", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == {
        "mode": "hybrid",
        "explicit": True,
        "curated": {
            "enabled": True,
            "memory": {"entries": 0, "chars": 0, "limit": 4000},
            "user": {"entries": 2, "chars": 9, "limit": 2000},
        },
        "gateway": {
            "state": "active",
            "baseUrl": command.server.url,
            "userId": "ada",
            "appId": "default",
            "projectId": "default",
            "scope": ["current_chat", "resources"],
            "topK": 8,
            "timeoutSeconds": 10.0,
            "reachable": True,
        },
    }
    assert not (command.home / "work" / "sessions.db").exists()
    [request] = command.server.requests
    assert (request.method, request.path, request.body) == ("GET", "/health", b"")


@pytest.mark.parametrize(
    ("reply", "reachable"),
    [(Reply(body={"status": "degraded"}), True), (Reply(500), False), (Reply(hang_up=True), False)],
)
async def test_status_says_whether_the_gateway_answers(
    command: Command, reply: Reply, reachable: bool
) -> None:
    command.configure()
    command.server.answer("GET", "/health", reply)
    done = await command.run("status", "--json")
    assert done.code == 0
    assert json.loads(done.out)["gateway"]["reachable"] is reachable


async def test_status_for_people(command: Command) -> None:
    command.configure(workspace=str(command.home / "work"))
    (command.home / "work" / "memory").mkdir(parents=True)
    (command.home / "work" / "memory" / "USER.md").write_text("Likes tea.")
    done = await command.run("status")
    assert done.out.splitlines() == [
        "mode: hybrid (explicit)",
        "curated memory: enabled",
        "  MEMORY.md: 0 entries, 0 of 4000 characters",
        "  USER.md: 1 entry, 10 of 2000 characters",
        "memory gateway: active",
        f"  baseUrl: {command.server.url}",
        "  userId: ada",
        "  appId: default",
        "  projectId: default",
        "  scope: current_chat, resources",
        "  topK: 8",
        "  timeoutSeconds: 10.0",
        "  reachable: yes",
    ]
    command.configure(memory=None)
    done = await command.run("status")
    assert done.out.splitlines()[-1] == "memory gateway: degraded"
    command.configure(memory={"mode": "curated"})
    assert json.loads((await command.run("status", "--json")).out)["gateway"] == {
        "state": "disabled"
    }


async def test_in_a_terminal_ctrl_d_ends_and_escapes_are_dropped(command: Command) -> None:
    command.configure()
    command.says("evil \x1b]0;title\x07 answer")
    master, slave = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agent", "chat",
        env=command.environment | {"PYTHONPATH": str(ROOT), "TERM": "dumb"},
        cwd=command.home, stdin=slave, stdout=slave, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    shown = b""

    async def until(mark: bytes) -> None:
        nonlocal shown
        while mark not in shown:
            shown += await asyncio.wait_for(asyncio.to_thread(os.read, master, 4096), 60)

    await until(b"> ")
    os.write(master, b"hello\n")
    await until(b"answer")
    shown = shown[shown.index(b"answer") :]
    await until(b"> ")
    os.write(master, b"\x04")
    await until(b"--session")
    assert await asyncio.wait_for(process.wait(), 60) == 0
    os.close(master)
    assert b"\x1b]0;" not in shown
    assert b"\x07" not in shown


async def test_the_installed_command_is_the_same(command: Command) -> None:
    command.configure(memory={"mode": "curated"})
    path = shutil.which("memory-agent", path=str(Path(sys.executable).parent))
    assert path
    done = await command.execute(path, "status")
    assert (done.code, done.out.splitlines()[0]) == (0, "mode: curated (explicit)")
