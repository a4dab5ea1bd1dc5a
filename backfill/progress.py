"""What the operator sees during a run: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

_LINE_EVERY = 5.0


class Reporter:
    """Progress and remarks, all on stderr: stdout is for the result."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(file=sys.stderr, highlight=False, soft_wrap=True)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._label = ""
        self._total = 0
        self._done = 0
        self._started = 0.0
        self._next_line = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.finish()

    def say(self, text: str) -> None:
        """A remark of one line, such as why a run slows down."""
        self._console.print(printable(text), markup=False)

    def start(self, label: str, total: int) -> None:
        """Start counting towards a total."""
        self.finish()
        self._label, self._total, self._done = label, total, 0
        self._started = time.monotonic()
        self._next_line = self._started + _LINE_EVERY
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]} rows/s"),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task(label, total=total, rate="0")
            self._bar.start()

    def advance(self, count: int = 1) -> None:
        """Add to the number of finished items."""
        self._done += count
        now = time.monotonic()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, rate=f"{self._rate(now):,.0f}")
        elif now >= self._next_line:
            self._next_line = now + _LINE_EVERY
            self.say(self._line(now))

    def finish(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = None

    def _rate(self, now: float) -> float:
        return self._done / max(now - self._started, 0.001)

    def _line(self, now: float) -> str:
        rate = self._rate(now)
        left = max(self._total - self._done, 0) / rate if rate else 0.0
        return (
            f"{self._label}: {self._done:,} of {self._total:,} rows,"
            f" {rate:,.0f} rows/s, about {left:,.0f} s left"
        )


def printable(text: str) -> str:
    """The text without terminal control characters: names and messages come from outside."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
