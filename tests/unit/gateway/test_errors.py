"""The headers of errors."""

import math

import pytest

from gateway.errors import Unavailable


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (None, "1"),
        (0.0, "1"),
        (0.2, "1"),
        (7.0, "7"),
        # The plugin sent a date that is decades away, or a number that no float can hold.
        (2_301_218_010.0, "3600"),
        (math.inf, "3600"),
    ],
)
def test_retry_after_is_a_time_that_a_client_can_wait(asked: float | None, said: str) -> None:
    assert Unavailable("down", retry_after=asked).headers == {"retry-after": said}
