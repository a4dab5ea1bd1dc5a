"""Finds the configuration file, reads it and checks it."""

import json
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

from agent.config import AgentConfig, GatewayConfig, MemoryConfig, Mode, ProviderConfig
from agent.errors import ConfigError
from agent.section import Section
from agent.texts import DEFAULT_INSTRUCTIONS

SCOPES = ("current_chat", "resources", "all_user_memory")

logger = logging.getLogger("agent")


def load_config(
    path: str | Path | None = None,
    *,
    env: Mapping[str, str] | None = None,
    workspace: Path | None = None,
    cwd: Path | None = None,
) -> AgentConfig:
    """The first configuration file that exists, as a whole; an empty configuration if none does.

    In this order: `path`; `$MEMORY_AGENT_CONFIG`; `config.json` in the home directory
    (`$MEMORY_AGENT_HOME`, else `~/.beaver`); `.beaver/config.json` in `workspace`, then in `cwd`.
    The first two must exist when they are given. `workspace` also overrides the one in the file.
    """
    env = os.environ if env is None else env
    cwd = Path.cwd() if cwd is None else cwd
    home = _expanded(env.get("MEMORY_AGENT_HOME") or "~/.beaver", env, cwd)
    given = None if workspace is None else _expanded(workspace, env, cwd)
    source = _named(path, env, cwd) or _found(home, given, cwd)
    data = {} if source is None else _read(source)
    try:
        config = parse_config(data)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None
    if given is not None:
        place = given
    elif source is not None and "workspace" in data:
        # Relative to the file: where the agent is started must not change what it remembers.
        place = _expanded(data["workspace"], env, source.parent)
    else:
        place = home / "workspace"
    return replace(config, workspace=place, source=source)


def parse_config(data: Mapping[str, Any]) -> AgentConfig:
    """Check a configuration that was read from JSON; raises ConfigError."""
    top = Section(data)
    agent = top.section("agent") or Section({}, "agent")
    return AgentConfig(
        memory=_memory(top.section("memory")),
        provider=_provider(top.section("provider")),
        workspace=top.path("workspace", "~/.beaver/workspace"),
        max_tool_rounds=agent.integer("maxToolRounds", 8, least=1),
        instructions=agent.text("instructions", DEFAULT_INSTRUCTIONS),
    )


def _memory(memory: Section | None) -> MemoryConfig:
    if memory is None:
        return MemoryConfig(mode="hybrid", explicit=False)
    mode = cast(Mode | None, memory.choice("mode", get_args(Mode)))
    if mode is None:
        if "gateway" in memory:
            logger.warning(
                "memory.gateway is ignored because memory.mode is missing: the mode is curated."
                ' Set memory.mode to "hybrid" or "memory_gateway" to use the gateway.'
            )
        return MemoryConfig(mode="curated", explicit=False)
    if mode == "curated":
        return MemoryConfig(mode=mode, explicit=True)
    gateway = memory.required_section("gateway", f'when memory.mode is "{mode}"')
    return MemoryConfig(mode=mode, explicit=True, gateway=_gateway(gateway))


def _gateway(gateway: Section) -> GatewayConfig:
    default = GatewayConfig(base_url="", user_id="", user_key="")
    return GatewayConfig(
        base_url=gateway.base_url("baseUrl"),
        user_id=gateway.text("userId"),
        user_key=gateway.text("userKey"),
        app_id=gateway.text("appId", default.app_id),
        project_id=gateway.text("projectId", default.project_id),
        scope=gateway.choices("scope", default.scope, SCOPES),
        top_k=gateway.integer("topK", default.top_k, least=1, most=100),
        timeout_seconds=gateway.seconds("timeoutSeconds", default.timeout_seconds),
    )


def _provider(provider: Section | None) -> ProviderConfig | None:
    if provider is None:
        return None
    return ProviderConfig(
        base_url=provider.base_url("baseUrl"),
        model=provider.text("model"),
        api_key=provider.secret("apiKey"),
        timeout_seconds=provider.seconds("timeoutSeconds", 60.0),
    )


def _named(path: str | Path | None, env: Mapping[str, str], cwd: Path) -> Path | None:
    """The file that was asked for explicitly, which must exist."""
    named = path if path is not None else env.get("MEMORY_AGENT_CONFIG") or None
    if named is None:
        return None
    found = _expanded(named, env, cwd)
    if not _exists(found):
        raise ConfigError(f"{found}: this configuration file does not exist")
    return found


def _found(home: Path, workspace: Path | None, cwd: Path) -> Path | None:
    """Home first, so that a cloned repository cannot redirect an agent's conversations."""

    def places() -> Iterator[Path]:
        yield home / "config.json"
        if workspace is not None:
            yield workspace / ".beaver" / "config.json"
        yield cwd / ".beaver" / "config.json"

    return next((place for place in places() if _exists(place)), None)


def _exists(path: Path) -> bool:
    """An inaccessible file counts as existing: skipping it would select another file."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True


def _read(path: Path) -> dict[str, Any]:
    # Raised after the handlers: their exceptions contain the text of the file, and so the keys.
    problem = "must be a JSON object"
    try:
        data = json.loads(path.read_bytes().decode("utf-8-sig"))
        if isinstance(data, dict):
            return data
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        problem = "is not UTF-8"
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON: look at line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        problem = "is not valid JSON: a number is too long, or it is nested too deeply"
    raise ConfigError(f"{path}: {problem}")


def _expanded(path: str | Path, env: Mapping[str, str], base: Path) -> Path:
    """An absolute path; `~` is the home directory of that environment."""
    text = os.fspath(path)
    if text == "~" or text.startswith("~/"):
        return Path(env.get("HOME") or Path.home()) / text[2:]
    return base / text
