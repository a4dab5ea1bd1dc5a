"""Which configuration file is used, and that an unusable one is not skipped."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from agent import ConfigError, load_config
from tests.unit.agent.world import KEY


def write(path: Path, rounds: int, **more: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"agent": {"maxToolRounds": rounds}, **more}))
    return path


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """A file in every place, each with a different number of rounds."""
    names = {
        "given": tmp_path / "given.json",
        "variable": tmp_path / "variable.json",
        "home": tmp_path / "home" / "config.json",
        "workspace": tmp_path / "workspace" / ".beaver" / "config.json",
        "cwd": tmp_path / "cwd" / ".beaver" / "config.json",
    }
    return {name: write(path, at) for at, (name, path) in enumerate(names.items(), start=1)}


def test_the_first_file_that_exists_is_used_as_a_whole(
    tmp_path: Path, places: dict[str, Path]
) -> None:
    env = {
        "MEMORY_AGENT_CONFIG": str(places["variable"]),
        "MEMORY_AGENT_HOME": str(tmp_path / "home"),
    }
    found = []
    given: Path | None = places["given"]
    for name in places:
        config = load_config(given, env=env, workspace=tmp_path / "workspace", cwd=tmp_path / "cwd")
        assert config.source == places[name]
        found.append(config.max_tool_rounds)
        given = None
        env.pop("MEMORY_AGENT_CONFIG", None) if name != "given" else None
        if name not in ("given", "variable"):
            places[name].unlink()
    assert found == [1, 2, 3, 4, 5]
    empty = load_config(env=env, workspace=tmp_path / "workspace", cwd=tmp_path / "cwd")
    assert empty.source is None
    assert empty.memory.mode == "hybrid"


def test_a_workspace_may_be_in_the_home_directory(tmp_path: Path, places: dict[str, Path]) -> None:
    env = {"HOME": str(tmp_path), "MEMORY_AGENT_HOME": str(tmp_path / "none")}
    config = load_config(env=env, workspace=Path("~/workspace"), cwd=tmp_path)
    assert config.source == places["workspace"]
    assert config.workspace == tmp_path / "workspace"


def test_a_cloned_repository_cannot_redirect_an_agent(
    tmp_path: Path, places: dict[str, Path]
) -> None:
    env = {"MEMORY_AGENT_HOME": str(tmp_path / "home")}
    assert load_config(env=env, cwd=tmp_path / "cwd").source == places["home"]


def test_home_is_beaver_in_the_home_directory(tmp_path: Path) -> None:
    path = write(tmp_path / ".beaver" / "config.json", 3)
    config = load_config(env={"HOME": str(tmp_path)}, cwd=tmp_path / "nowhere")
    assert config.source == path
    assert config.workspace == tmp_path / ".beaver" / "workspace"


def test_the_environment_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "it.json", 7)
    monkeypatch.setenv("MEMORY_AGENT_CONFIG", str(path))
    assert load_config().max_tool_rounds == 7


@pytest.mark.parametrize("how", ["given", "variable"])
def test_a_file_that_was_named_must_exist(tmp_path: Path, how: str) -> None:
    write(tmp_path / ".beaver" / "config.json", 3)
    missing = tmp_path / "missing.json"
    env = {"HOME": str(tmp_path)}
    if how == "variable":
        env["MEMORY_AGENT_CONFIG"] = str(missing)
    with pytest.raises(ConfigError, match="does not exist"):
        load_config(missing if how == "given" else None, env=env, cwd=tmp_path)


def test_an_empty_variable_names_nothing(tmp_path: Path) -> None:
    env = {"MEMORY_AGENT_CONFIG": "", "MEMORY_AGENT_HOME": "", "HOME": str(tmp_path)}
    assert load_config(env=env, cwd=tmp_path).source is None


def test_an_unreadable_file_is_not_skipped(tmp_path: Path) -> None:
    write(tmp_path / "cwd" / ".beaver" / "config.json", 3)
    (tmp_path / "home" / "config.json").mkdir(parents=True)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(env={"MEMORY_AGENT_HOME": str(tmp_path / "home")}, cwd=tmp_path / "cwd")


BROKEN = {
    "empty": b"",
    "cut off": b'{"memory": {"gateway": {"userKey": "%s"' % KEY.encode(),
    "trailing comma": b'{"userKey": "%s",}' % KEY.encode(),
    "bad escape": b'{"userKey": "%s\\q"}' % KEY.encode(),
    "not UTF-8": b'{"userKey": "%s\xff"}' % KEY.encode(),
    "a list": b'["%s"]' % KEY.encode(),
    "a string": b'"%s"' % KEY.encode(),
    "null": b"null",
    "deep": b'{"a":' + b"[" * 100_000,
    "a long number": b'{"agent": {"maxToolRounds": ' + b"1" * 10_000 + b"}}",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_broken_json_is_reported_without_its_content(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        load_config(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    assert KEY not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__context__ is None


def test_an_invalid_value_is_reported_with_the_file_and_the_place(tmp_path: Path) -> None:
    path = write(tmp_path / "config.json", 0)
    with pytest.raises(ConfigError) as error:
        load_config(path)
    assert str(error.value) == f"{path}: agent.maxToolRounds: must be an integer at least 1"


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b"\xef\xbb\xbf{}")
    assert load_config(path).source == path


def test_the_callers_workspace_wins(tmp_path: Path) -> None:
    path = write(tmp_path / "config.json", 3, workspace="/somewhere")
    assert load_config(path, workspace=tmp_path / "mine").workspace == tmp_path / "mine"
    assert load_config(path, workspace=Path("mine"), cwd=tmp_path).workspace == tmp_path / "mine"
    assert load_config(path).workspace == Path("/somewhere")


def test_a_relative_workspace_is_relative_to_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "there" / "config.json", 3, workspace="work")
    config = load_config(path, cwd=tmp_path / "elsewhere")
    assert config.workspace == tmp_path / "there" / "work"


def test_a_workspace_with_a_tilde_is_in_the_home_directory(tmp_path: Path) -> None:
    path = write(tmp_path / "config.json", 3, workspace="~/work")
    assert load_config(path, env={"HOME": "/h"}).workspace == Path("/h/work")


def test_a_missing_mode_is_warned_about_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "config.json", 3, memory={"gateway": {"userKey": KEY}})
    with caplog.at_level(logging.WARNING):
        load_config(path)
    assert len(caplog.records) == 1
    assert KEY not in caplog.text


def test_an_inaccessible_home_is_not_skipped(tmp_path: Path) -> None:
    write(tmp_path / "cwd" / ".beaver" / "config.json", 3)
    home = tmp_path / ("long" * 100)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(env={"MEMORY_AGENT_HOME": str(home)}, cwd=tmp_path / "cwd")
