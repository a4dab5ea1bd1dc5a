"""The table of settings as an operator's page must have it, made from the code."""

from plugin_postgres.settings import SETTINGS
from serving.settings import Setting

HEAD = ("Flag", "Environment", "Default", "Meaning")


def rows() -> list[list[str]]:
    return [row(setting) for setting in SETTINGS]


def row(setting: Setting) -> list[str]:
    return [
        f"`{setting.flag}`",
        f"`{setting.env}`",
        "" if setting.default in (None, False) else f"`{_shown(setting.default)}`",
        setting.meaning,
    ]


def _shown(default: object) -> str:
    return f"{default:g}" if isinstance(default, float) else str(default)
