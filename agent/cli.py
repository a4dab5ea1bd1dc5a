"""The command `memory-agent`: chat, and show what is switched on."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from agent.chat import Chat
from agent.config import AgentConfig
from agent.config_file import load_config
from agent.errors import ConfigError, CuratedMemoryError, SessionStoreError
from agent.gateway_client import MemoryGatewayClient
from agent.loader import EngineLoader, curated_memory
from agent.status import status_of

EXIT_FAILED = 1
EXIT_CONFIGURATION = 2
EXIT_INTERRUPTED = 130

# Pretty tracebacks would show the values of variables, and with them keys.
app = typer.Typer(
    name="memory-agent",
    help="An agent that remembers: curated files, a memory gateway, or both.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ConfigPath = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="Configuration file. Default: $MEMORY_AGENT_CONFIG, $MEMORY_AGENT_HOME/config.json,"
        " ~/.beaver/config.json, or .beaver/config.json in the workspace or here.",
        show_default=False,
    ),
]
Workspace = Annotated[
    Path | None,
    typer.Option(help="Directory for sessions and curated memory.", show_default=False),
]


def main() -> None:
    """Run the command; report an error that the user can solve in one line."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        app()
    except ConfigError as error:
        _stop(str(error), EXIT_CONFIGURATION)
    except (SessionStoreError, CuratedMemoryError) as error:
        _stop(str(error), EXIT_FAILED)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


@app.command()
def chat(
    message: Annotated[
        str | None,
        typer.Option(
            "--message", "-m", help="Ask once and print only the answer.", show_default=False
        ),
    ] = None,
    session: Annotated[
        str | None, typer.Option(help="Continue this session.", show_default=False)
    ] = None,
    config: ConfigPath = None,
    workspace: Workspace = None,
) -> None:
    """Chat with the agent. Ctrl-D ends the chat, /new starts a new session.

    Exit codes: 0 success, 1 a run failed, 2 the configuration is invalid.
    """
    for name, value in (("--message", message), ("--session", session)):
        if value is not None and not value.strip():
            raise ConfigError(f"{name}: must not be blank")
    settings = load_config(config, workspace=workspace)
    if settings.provider is None:  # before anything else is created or printed
        raise ConfigError("provider: is required to answer; set provider.baseUrl and .model")
    with asyncio.Runner() as runner:
        engine = EngineLoader(settings).load()
        try:
            talk = Chat(engine.loop, runner, _decoded(session) if session else None)
            ok = talk.read_and_answer() if message is None else talk.answer(_decoded(message))
        finally:
            runner.run(engine.aclose())
    raise typer.Exit(0 if ok else EXIT_FAILED)


@app.command()
def status(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    config: ConfigPath = None,
    workspace: Workspace = None,
) -> None:
    """Show the mode, how full the curated files are, and whether the gateway responds."""
    settings = load_config(config, workspace=workspace)
    found = status_of(settings, curated_memory(settings))
    if found["gateway"]["state"] == "active":
        found["gateway"]["reachable"] = asyncio.run(_is_reachable(settings))
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else _as_text(found))


async def _is_reachable(settings: AgentConfig) -> bool:
    if settings.memory.gateway is None:
        return False
    client = MemoryGatewayClient(settings.memory.gateway)
    try:
        return await client.is_reachable()
    finally:
        await client.aclose()


def _as_text(status: dict[str, Any]) -> str:
    """Two levels of names and values, one per line."""
    how = "explicit" if status["explicit"] else "by default"
    lines = [f"mode: {status['mode']} ({how})"]
    curated = status["curated"]
    lines.append(f"curated memory: {'enabled' if curated['enabled'] else 'disabled'}")
    for target, name in (("memory", "MEMORY.md"), ("user", "USER.md")):
        if target in curated:
            it = curated[target]
            entries = "1 entry" if it["entries"] == 1 else f"{it['entries']} entries"
            lines.append(f"  {name}: {entries}, {it['chars']} of {it['limit']} characters")
    gateway = dict(status["gateway"])
    lines.append(f"memory gateway: {gateway.pop('state')}")
    for name, value in gateway.items():
        shown = {True: "yes", False: "no"}.get(value) if isinstance(value, bool) else value
        lines.append(f"  {name}: {', '.join(shown) if isinstance(shown, list) else shown}")
    return "\n".join(lines)


def _decoded(argument: str) -> str:
    """Bytes of the command line that are not UTF-8 become U+FFFD."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _stop(text: str, code: int) -> None:
    sys.stderr.write(f"memory-agent: {text}\n")
    sys.exit(code)
