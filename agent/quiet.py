"""Keeps the HTTP libraries from logging our calls.

At DEBUG they log the headers of every response and the errors of every request. If a server echoes
a key, or no header can carry the key, it would end up in a log. What is worth knowing about a call
is logged by `agent` itself.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LOGGERS = (
    "httpx",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpcore.socks",
)
_ours: ContextVar[bool] = ContextVar("a call of the agent is in progress", default=False)


def _is_not_ours(_: logging.LogRecord) -> bool:
    return not _ours.get()


for _name in _LOGGERS:
    logging.getLogger(_name).addFilter(_is_not_ours)


@contextmanager
def quiet() -> Iterator[None]:
    """Drops what the libraries log in this task; other tasks are not affected."""
    token = _ours.set(True)
    try:
        yield
    finally:
        _ours.reset(token)
