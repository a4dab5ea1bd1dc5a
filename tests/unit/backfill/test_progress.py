"""What a run shows while it is in progress."""

from io import StringIO

import pytest
from rich.console import Console

from backfill.progress import Reporter, printable


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that the test controls."""
    now = [100.0]
    monkeypatch.setattr("backfill.progress.time.monotonic", lambda: now[0])
    return now


def test_without_a_terminal_there_is_a_plain_line_every_few_seconds(clock: list[float]) -> None:
    seen = StringIO()
    with Reporter(Console(file=seen, width=200)) as reporter:
        reporter.start("apply", 1000)
        for _ in range(12):
            clock[0] += 1
            reporter.advance(50)
    assert seen.getvalue().splitlines() == [
        "apply: 250 of 1,000 rows, 50 rows/s, about 15 s left",
        "apply: 500 of 1,000 rows, 50 rows/s, about 10 s left",
    ]


def test_on_a_terminal_there_is_a_bar_with_rate_and_time_left() -> None:
    seen = StringIO()
    console = Console(file=seen, force_terminal=True, width=120, legacy_windows=False)
    with Reporter(console) as reporter:
        reporter.start("apply", 1000)
        reporter.advance(250)
        reporter.say("slowing down: the queue is full")
    shown = seen.getvalue()
    assert "250/1000" in shown
    assert "rows/s" in shown
    assert "slowing down: the queue is full" in shown


def test_a_remark_is_printed_as_it_is() -> None:
    seen = StringIO()
    Reporter(Console(file=seen, width=20, soft_wrap=True)).say(
        "[bold]a line longer than the screen"
    )
    assert seen.getvalue() == "[bold]a line longer than the screen\n"


def test_text_from_outside_cannot_control_the_terminal() -> None:
    assert printable("a\x1b[2Jb\r\nc\u202ed é 語") == "a\ufffd[2Jb\ufffd\ufffdc\ufffdd é 語"
