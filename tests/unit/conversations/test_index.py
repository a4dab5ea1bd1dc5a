"""How long the index rests while many messages arrive."""

import pytest

from conversations.index import rest_after


@pytest.mark.parametrize(("round_seconds", "rest"), [(0.001, 0.2), (0.5, 4.5), (1.0, 9.0)])
def test_a_round_is_followed_by_nine_times_as_long(round_seconds: float, rest: float) -> None:
    assert rest_after(round_seconds) == pytest.approx(rest)


def test_a_plugin_that_took_a_minute_is_not_left_alone_for_nine() -> None:
    assert rest_after(60.0) == 10.0
