"""Settings: one registry, from which the command line is made."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from plugin_postgres.settings import SETTINGS, Settings
from serving.errors import BadSetting


def test_the_fixed_interface_is_unchanged() -> None:
    fixed = {
        "--listen": ("MEMORY_PLUGIN_LISTEN_ADDR", "127.0.0.1:9100"),
        "--database-url": ("MEMORY_PLUGIN_DATABASE_URL", None),
        "--data-dir": ("MEMORY_PLUGIN_DATA_DIR", Path(".data")),
        "--workers": ("MEMORY_PLUGIN_WORKERS", 1),
        "--skip-migrate": ("MEMORY_PLUGIN_SKIP_MIGRATE", False),
        "--token": ("MEMORY_PLUGIN_TOKEN", None),
    }
    known = {setting.flag: (setting.env, setting.default) for setting in SETTINGS}
    assert fixed.items() <= known.items()


def test_every_setting_has_a_flag_a_variable_and_a_meaning() -> None:
    assert [setting.name for setting in SETTINGS] == [field.name for field in fields(Settings)]
    assert len({setting.env for setting in SETTINGS}) == len(SETTINGS)
    for setting in SETTINGS:
        assert setting.env.startswith("MEMORY_PLUGIN_")
        assert setting.meaning.endswith(".")


@pytest.mark.parametrize(
    ("values", "flag"),
    [
        ({"workers": 0}, "--workers"),
        ({"pool_size": 1}, "--pool-size"),
        ({"statement_timeout": 0.0}, "--statement-timeout"),
        ({"statement_timeout": float("nan")}, "--statement-timeout"),
        ({"statement_timeout": float("inf")}, "--statement-timeout"),
        ({"statement_timeout": 1e9}, "--statement-timeout"),
        ({"shutdown_timeout": float("inf")}, "--shutdown-timeout"),
        ({"janitor_grace": float("inf")}, "--janitor-grace"),
        ({"max_body": 0}, "--max-body"),
        ({"log_level": "loud"}, "--log-level"),
        ({"token": " "}, "--token"),
        ({"token": "tökén"}, "--token"),
        ({"token": "read from a file\n"}, "--token"),
    ],
)
def test_an_invalid_value_is_refused_by_its_flag(values: dict[str, Any], flag: str) -> None:
    with pytest.raises(BadSetting, match=flag):
        Settings(**values)


def test_nothing_secret_is_shown() -> None:
    shown = repr(Settings(token="hush", database_url="postgresql://u:hush@h/d"))
    assert "hush" not in shown
