"""The user's key and the provider's key are in requests and nowhere else that can be printed.

The servers here echo the keys wherever HTTP lets them: bodies, headers, cookies, redirects.
"""

import json
import logging
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent import (
    ConfigError,
    EngineLoader,
    MemoryGatewayClient,
    MemoryGatewayError,
    MemoryGatewayService,
    OpenAIProvider,
    ProviderConfig,
    ProviderError,
    load_config,
)
from agent import quiet as quiet_module
from tests.integration.agent.command import API_KEY, CHAT, Command
from tests.integration.contract.stub import Reply, Stub
from tests.unit.agent.world import KEY

pytestmark = pytest.mark.anyio
ECHO = {
    "X-Echo": f"{KEY} {API_KEY}",
    "Location": f"/{KEY}/{API_KEY}",
    "Set-Cookie": f"key={KEY}",
    "WWW-Authenticate": f"Bearer {API_KEY}",
}
RESULT = dict.fromkeys(("id", "text", "session_id", "resource_uri"), f"echo {KEY}")
COMPLETION = {"choices": [{"message": {"content": "Hello.", "reasoning": "Hm."}}]}


def echo(status: int, body: Any = None) -> Reply:
    return Reply(status, body if body is not None else f"{KEY} {API_KEY}".encode(), dict(ECHO))


def printed(it: Any, seen: set[int] | None = None) -> Iterator[str]:
    """Everything that a log or a debugger could print of one of our objects."""
    seen = set() if seen is None else seen
    if id(it) in seen:
        return
    seen.add(id(it))
    yield f"{it!r} {it}"
    if isinstance(it, BaseException):
        yield from traceback.format_exception(it)
        for behind in (it.__cause__, it.__context__):
            if behind is not None:
                yield from printed(behind, seen)
    if isinstance(it, dict):
        values = list(it.values())
    elif isinstance(it, list | tuple | set):
        values = list(it)
    elif type(it).__module__.split(".")[0] == "agent" and hasattr(it, "__dict__"):
        values = list(vars(it).values())
    else:
        values = []
    for value in values:
        # The two fields that hold the keys are the only strings here that may.
        if not (isinstance(value, str) and value in (KEY, API_KEY)):
            yield from printed(value, seen)


@pytest.fixture
def clean(
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    recwarn: pytest.WarningsRecorder,
) -> Iterator[None]:
    """Checks that no log, output or warning of any library contains a key."""
    caplog.set_level(logging.DEBUG)
    for name in ("httpx", "httpcore", "agent", "asyncio"):
        caplog.set_level(logging.DEBUG, logger=name)
    yield
    out, err = capfd.readouterr()
    records = caplog.get_records("call")
    assert "agent" in {record.name for record in records}
    told = " ".join(f"{record.getMessage()} {vars(record)}" for record in records)
    told += f"{out} {err} {[str(it.message) for it in recwarn]}"
    assert KEY not in told
    assert API_KEY not in told


GATEWAYS: dict[str, Callable[[], Reply]] = {
    "well": lambda: echo(200, {"results": [RESULT], "status": "ok"}),
    "wrong key": lambda: echo(401),
    "error": lambda: echo(500, {"code": "internal", "message": KEY}),
    "redirect": lambda: echo(307),
    "broken": lambda: echo(200, f'{{"results": ["{KEY}"'.encode()),
    "other shape": lambda: echo(200, [KEY]),
    "cut": lambda: Reply(200, {"results": [KEY]}, dict(ECHO), cut=True),
    "gone": lambda: Reply(hang_up=True),
}


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("gateway", GATEWAYS)
@pytest.mark.parametrize("provider", ["well", "wrong key", "gone"])
async def test_nothing_that_is_printed_contains_a_key(
    command: Command, gateway: str, provider: str
) -> None:
    for path in ("search", "add", "flush"):
        command.server.answer("POST", f"/memories/{path}", GATEWAYS[gateway]())
    answers = {"well": echo(200, COMPLETION), "wrong key": echo(401), "gone": Reply(hang_up=True)}
    command.server.answer("POST", CHAT, answers[provider])
    config = load_config(command.configure(), workspace=command.home / "work")
    engine = EngineLoader(config).load()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = await engine.loop.run("What is my cat called?")
        events = engine.sessions.events(result.session_id)
        history = engine.sessions.history(result.session_id)
        shown = [*printed(engine), *printed([result, events, history, engine.status()])]
        await engine.aclose()
    text = " ".join(shown)
    assert "GatewayConfig(" in text
    assert "ProviderConfig(" in text
    assert KEY not in text
    assert API_KEY not in text
    assert KEY not in str(command.asked())
    stored = b"".join(path.read_bytes() for path in _files(command.home / "work"))
    assert b"What is my cat called?" in stored
    assert KEY.encode() not in stored
    assert API_KEY.encode() not in stored
    sent = [request for request in command.server.requests if KEY.encode() in request.body]
    assert {request.path.split("/")[1] for request in sent} == {"memories"}
    assert all(KEY not in f"{it.path} {it.headers}" for it in command.server.requests)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.usefixtures("clean")
async def test_no_error_contains_a_key(command: Command) -> None:
    config = load_config(command.configure())
    assert config.memory.gateway is not None
    assert config.provider is not None
    client = MemoryGatewayClient(config.memory.gateway)
    model = OpenAIProvider(config.provider)
    for reply in [*GATEWAYS.values()][1:]:
        for path in ("/memories/search", CHAT):
            command.server.answer("POST", path, reply())
        with pytest.raises(MemoryGatewayError) as error:
            await client.search(conversation_id="s", query="q")
        with pytest.raises(ProviderError) as failed:
            await model.complete([{"role": "user", "content": "q"}], [])
        service = MemoryGatewayService(config.memory.gateway, client)
        text = " ".join([*printed([error.value, failed.value, client, model, service])])
        assert KEY not in text
        assert API_KEY not in text
    await client.aclose()
    await model.aclose()


@pytest.mark.parametrize(
    ("arguments", "gateway"),
    [(["chat", "-m", "hi"], "well"), (["chat", "-m", "hi"], "gone"), (["status"], "wrong key")],
)
async def test_the_command_prints_no_key_even_with_all_logs_on(
    command: Command, arguments: list[str], gateway: str
) -> None:
    command.configure()
    for path in ("search", "add", "flush"):
        command.server.answer("POST", f"/memories/{path}", GATEWAYS[gateway]())
    command.server.answer("GET", "/health", GATEWAYS[gateway]())
    command.server.answer("POST", CHAT, echo(200, COMPLETION))
    code = "import logging; logging.basicConfig(level=1); from agent.cli import main; main()"
    done = await command.execute("-X", "dev", "-c", code, *arguments, PYTHONASYNCIODEBUG="1")
    assert "DEBUG:agent:" in done.err
    assert KEY not in done.out + done.err
    assert API_KEY not in done.out + done.err


async def test_without_our_filter_the_libraries_would_print_them(
    command: Command, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ensures that the tests above do not pass only because nothing was logged."""
    command.server.answer("POST", CHAT, echo(200, COMPLETION))
    model = OpenAIProvider(
        ProviderConfig(base_url=f"{command.server.url}/v1", model="m", api_key=API_KEY)
    )
    caplog.set_level(logging.DEBUG, logger="httpcore")

    class NotOurs:
        def get(self) -> bool:
            return False

        def set(self, value: bool) -> None: ...

        def reset(self, token: None) -> None: ...

    monkeypatch.setattr(quiet_module, "_ours", NotOurs())
    await model.complete([{"role": "user", "content": "q"}], [])
    await model.aclose()
    assert KEY in caplog.text


async def test_the_logs_of_others_are_left_alone(
    server: Stub, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="httpx")
    server.answer("GET", "/health", Reply(body={}))
    async with httpx.AsyncClient(timeout=60) as other:
        await other.get(f"{server.url}/health")
    assert "HTTP Request: GET" in caplog.text


def test_keys_in_the_wrong_places_of_a_configuration_are_not_printed(
    tmp_path: Path,
) -> None:
    good = {"baseUrl": "http://h", "userId": "ada", "userKey": KEY}
    for name in (*good, "appId", "scope", "topK", "timeoutSeconds"):
        for wrong in ([KEY], {KEY: KEY}, f" {KEY} " if name in ("baseUrl", "topK") else [KEY]):
            path = tmp_path / "config.json"
            gateway = good | {name: wrong}
            path.write_text(json.dumps({"memory": {"mode": "hybrid", "gateway": gateway}}))
            with pytest.raises(ConfigError) as error:
                load_config(path)
            assert KEY not in " ".join(printed(error.value))
