"""The pause before a retry."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from contract.retry import pause, read_retry_after


def test_the_pause_doubles_is_jittered_and_bounded() -> None:
    for number, longest in enumerate([0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]):
        pauses = [pause(number, None) for _ in range(50)]
        assert all(longest / 2 <= it <= longest for it in pauses)
        assert len(set(pauses)) > 1


def test_retry_after_replaces_the_backoff() -> None:
    assert pause(0, 7.0) == 7.0
    assert pause(5, 0.0) == 0.0


@pytest.mark.parametrize(
    ("header", "seconds"), [("3", 3.0), (" 0 ", 0.0), (None, None), ("soon", None), ("-1", None)]
)
def test_retry_after_in_seconds(header: str | None, seconds: float | None) -> None:
    assert read_retry_after(header) == seconds


def test_retry_after_as_a_date() -> None:
    later = datetime.now(UTC) + timedelta(seconds=100)
    seconds = read_retry_after(format_datetime(later, usegmt=True))
    assert seconds is not None
    assert 0 < seconds <= 100
    assert read_retry_after("Thu, 01 Jan 1970 00:00:00 GMT") == 0


@pytest.mark.parametrize(
    "header",
    [
        "Thu, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Thu, 01 Jan 1970 99999999999999999999:00:00 GMT",
        "Thu, 01 Jan 1970 00:00:00 +99999999999999999",
    ],
)
def test_a_retry_after_that_no_clock_can_hold_counts_as_none(header: str) -> None:
    assert read_retry_after(header) is None


@pytest.mark.parametrize("header", ["9" * 400, "Fri, 31 Dec 9999 23:59:59 -0100"])
def test_a_retry_after_of_centuries_is_still_a_number_of_seconds(header: str) -> None:
    """A server that passes it on writes it as an integer, which infinity is not."""
    assert read_retry_after(header) == 1e9
