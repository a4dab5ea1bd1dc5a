"""Log events: a short name and fields, as text or as one JSON object per line, on stderr.

    log.info("listening", extra={"address": …})

No field ever holds what users store, a password or a token. Of an exception only its type and
where it came from are logged: its message may quote the data.
"""

import json
import logging
import logging.config
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


def configuration(*, level: str, as_json: bool, packages: Sequence[str]) -> dict[str, Any]:
    """For `logging.config.dictConfig`; worker processes get it too.

    The level applies to these packages; others only log warnings.
    """
    formatter = f"{__name__}.{'JsonLines' if as_json else 'TextLines'}"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": formatter}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "lines",
                "stream": "ext://sys.stderr",
            }
        },
        "root": {"level": "WARNING", "handlers": ["stderr"]},
        "loggers": {
            **{package: {"level": level.upper()} for package in packages},
            # Its own messages, such as "Shutting down", duplicate ours.
            "uvicorn": {"level": "WARNING"},
        },
    }


def configure(*, level: str, as_json: bool, packages: Sequence[str]) -> None:
    logging.config.dictConfig(configuration(level=level, as_json=as_json, packages=packages))


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        event = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
            "pid": record.process,
            **_fields(record),
        }
        try:
            return orjson.dumps(event, default=str, option=orjson.OPT_UTC_Z).decode()
        except TypeError:  # a path that is not UTF-8, or a number of more than 64 bits
            return json.dumps(event, default=str)


class TextLines(logging.Formatter):
    """For people: time, level, event, fields."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")[:-3]
        parts = [time, record.levelname, record.getMessage()]
        parts += [f"{name}={value}" for name, value in _fields(record).items()]
        return " ".join(parts)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    if record.exc_info and record.exc_info[0] is not None:
        extra["exception"] = record.exc_info[0].__name__
        extra["raised_at"] = [
            f"{frame.filename.rsplit('/', 2)[-1]}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(record.exc_info[2])
        ]
    return extra
