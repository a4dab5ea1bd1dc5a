"""The rows of a settings table on an operator's page, generated from the code."""

from serving.settings import Setting

HEAD = ("Flag", "Environment", "Default", "Meaning")


def row(setting: Setting) -> list[str]:
    return [
        f"`{setting.flag}`",
        f"`{setting.env}`",
        "" if setting.default in (None, False) else f"`{_shown(setting.default)}`",
        setting.meaning,
    ]


def _shown(default: object) -> str:
    return f"{default:g}" if isinstance(default, float) else str(default)
