"""The table of settings as operating.md must have it, made from the code."""

from plugin_postgres.settings import SETTINGS

HEAD = ("Flag", "Environment", "Default", "Meaning")


def rows() -> list[list[str]]:
    return [
        [
            f"`{setting.flag}`",
            f"`{setting.env}`",
            "" if setting.default in (None, False) else f"`{_shown(setting.default)}`",
            setting.meaning,
        ]
        for setting in SETTINGS
    ]


def _shown(default: object) -> str:
    return f"{default:g}" if isinstance(default, float) else str(default)
